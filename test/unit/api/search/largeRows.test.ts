import { weighDetail } from '../../../../src/api/search/details.ts'
import { hasLarge } from '../../../../src/api/search/indexReader.ts'
import type { RunQuery } from '../../../../src/api/search/searchClient.ts'
import type { EntityType } from '../../../../src/core/model/ids.ts'
import type { ListVersion } from '../../../../src/core/stores/listVersions.ts'
import { largeBytes } from '../../../../src/core/stores/renderDocuments.ts'
import { askedList, searchAnswer } from '../../../support/askedList.ts'

const runQuery: RunQuery = (send) => send(new AbortController().signal)

/** A list whose Elasticsearch knows which details are large. */
const knowing = (bytesOf: Readonly<Record<string, number>>) =>
  askedList(({ body }) => {
    const searched = JSON.stringify(body)
    const found = Object.entries(bytesOf).filter(
      ([id]) => !searched.includes('"ids"') || searched.includes(`"team-1/${id}"`),
    )
    const hits = found.map(([id, bytes]) => {
      return { sort: ['team-1', `2026-03-01T10:00:00.000Z|${id}`], fields: { 'large.detailBytes': [String(bytes)] } }
    })
    const total = { value: Math.min(1, found.length), relation: 'eq' }
    return searchAnswer({ total, hits: body?.['size'] === 0 ? [] : hits })
  }, 'submissions')

test('a detail weighs what its row tells, any other one as much as is not large', async () => {
  const { list } = knowing({ a: 9_900_000 })
  const weigh = (id: string) => weighDetail({ ...list, version: '1' as ListVersion }, id, runQuery)
  expect(await Promise.all(['a', 'b', 'no identifier'].map(weigh))).toEqual([9_900_000, largeBytes, largeBytes])
})

test('a list is asked for large rows, and for large details, once for each of its versions, and always without one', async () => {
  const { list, asked } = knowing({})
  let turns = 0
  const run: RunQuery = (send) => {
    turns++
    return runQuery(send)
  }
  const timesAsked = async (version: string | null, type: EntityType): Promise<number> => {
    asked.length = turns = 0
    const at = { ...list, type, version: version as ListVersion | null }
    for (let time = 1; time <= 3; time++) {
      expect(await hasLarge(at, 'summary', run)).toBe(false)
      expect(await weighDetail(at, 'a', run)).toBe(largeBytes)
    }
    // What is known waits for no turn.
    expect(turns).toBe(asked.length)
    return asked.length
  }
  expect(await timesAsked('first', 'forms')).toBe(2)
  expect(await timesAsked('first', 'forms')).toBe(0)
  expect(await timesAsked('first', 'submissions')).toBe(2)
  expect(await timesAsked('second', 'forms')).toBe(2)
  expect(await timesAsked(null, 'forms')).toBe(6)
})

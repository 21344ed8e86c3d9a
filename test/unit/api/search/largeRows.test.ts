import { weighDetail } from '../../../../src/api/search/details.ts'
import { createIndexReader, hasLarge } from '../../../../src/api/search/indexReader.ts'
import type { RunQuery } from '../../../../src/api/search/searchClient.ts'
import type { EntityType, TeamId } from '../../../../src/core/model/ids.ts'
import type { ListVersion } from '../../../../src/core/stores/listVersions.ts'
import { largeBytes } from '../../../../src/core/stores/renderDocuments.ts'

const teamId = 'acme' as TeamId
const at = (version: string | null, type: EntityType = 'submissions') => ({
  type,
  teamId,
  version: version as ListVersion | null,
})

const runQuery: RunQuery = (send) => send(new AbortController().signal)

/** An Elasticsearch that knows which details are large, and the searches that it was asked. */
function knowing(bytesOf: Readonly<Record<string, number>>) {
  const asked: unknown[] = []
  const all = Object.entries(bytesOf)
  const send = async ({ body }: { readonly body?: Readonly<Record<string, unknown>> }) => {
    asked.push(body)
    const searched = JSON.stringify(body)
    const found = all.filter(([id]) => !searched.includes('"ids"') || searched.includes(`"acme/${id}"`))
    const hits = found.map(([id, bytes]) => {
      return { sort: ['acme', `2026-03-01T10:00:00.000Z|${id}`], fields: { 'large.detailBytes': [String(bytes)] } }
    })
    const total = { value: Math.min(1, found.length), relation: 'eq' }
    const answer = { timed_out: false, _shards: { failed: 0 }, hits: { total, hits: body?.['size'] === 0 ? [] : hits } }
    return { isFound: true, bytes: Buffer.from(JSON.stringify(answer)) }
  }
  return { asked, indexReader: createIndexReader({ indexPrefix: 'p', send }, 1_000) }
}

test('a detail weighs what its row tells, any other one as much as is not large', async () => {
  const { indexReader } = knowing({ a: 9_900_000 })
  const weigh = (id: string) => weighDetail(indexReader, at('1'), id, runQuery)
  expect(await Promise.all(['a', 'b', 'no identifier'].map(weigh))).toEqual([9_900_000, largeBytes, largeBytes])
})

test('a list is asked for large rows, and for large details, once for each of its versions, and always without one', async () => {
  const { indexReader, asked } = knowing({})
  let turns = 0
  const run: RunQuery = (send) => {
    turns++
    return runQuery(send)
  }
  const timesAsked = async (version: string | null, type: EntityType): Promise<number> => {
    asked.length = turns = 0
    for (let time = 1; time <= 3; time++) {
      expect(await hasLarge(indexReader, at(version, type), 'summary', run)).toBe(false)
      expect(await weighDetail(indexReader, at(version, type), 'a', run)).toBe(largeBytes)
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

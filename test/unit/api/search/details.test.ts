import fc from 'fast-check'
import { type Detail, readDetail, readDetails } from '../../../../src/api/search/details.ts'
import { hasLarge, weighDetail } from '../../../../src/api/search/largeRows.ts'
import type { RunQuery } from '../../../../src/api/search/queryTurns.ts'
import type { SearchRequest } from '../../../../src/api/search/searchClient.ts'
import { largeBytes } from '../../../../src/core/elasticsearch/documentFormat.ts'
import type { EntityId, EntityType } from '../../../../src/core/model/ids.ts'
import type { ListVersion } from '../../../../src/core/redis/listVersions.ts'
import { askedList, searchAnswer } from '../../../support/askedList.ts'

const { signal } = new AbortController()

const answering = (text: string, isFound = true) => askedList(() => ({ isFound, text }))
/** What is read of details when Elasticsearch gives this answer. */
async function read(ids: readonly string[], answer: string, asked: SearchRequest[] = []): Promise<readonly Detail[]> {
  const answered = answering(answer)
  const details = await readDetails(answered.list, ids as EntityId[], false, signal)
  asked.push(...answered.asked)
  return details
}
const envelope = (id: string, rest: string): string =>
  `{"_index":"tidemark-form-details-v1-1","_id":"team-1/${id}",${rest}}`
const found = (id: string, source: string): string =>
  envelope(id, `"_version":3,"_seq_no":1,"_primary_term":1,"_routing":"team-1","found":true,"_source":${source}`)
const answerOf = (...documents: string[]): string => `{"docs":[${documents.join(',')}]}`
const texts = (details: readonly Detail[]): string[] => details.map(String)

test('a text that cannot be an id causes no request', async () => {
  const malformed = fc.string({ unit: 'binary' }).filter((id) => !/^[A-Za-z0-9._:-]{1,128}$/.test(id))
  await fc.assert(
    fc.asyncProperty(malformed, async (id) => {
      const { list, asked } = answering('{}')
      expect(await readDetail(list, id, signal)).toBeUndefined()
      expect(asked).toEqual([])
    }),
  )
})

test('sources come back byte for byte, in the order of the ids', async () => {
  const envelopes = ['{"_index":"', '"},{"_index":"p","_id":"team-1/b","found":false}', ',"_source":', '{"docs":[']
  const text = fc.oneof(fc.string(), fc.constantFrom(...envelopes))
  const source = fc.oneof(
    fc.dictionary(text, fc.jsonValue()),
    fc.record({ _index: text, _id: text, found: fc.boolean(), _source: fc.jsonValue() }),
    fc.record({ docs: fc.array(fc.record({ _index: fc.constant('p'), _id: fc.constant('t/1'), _source: text })) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(source.map((value) => JSON.stringify(value))), async (sources) => {
      const ids = sources.map((_, at) => String(at))
      expect(texts(await read(ids, answerOf(...sources.map((each, at) => found(String(at), each)))))).toEqual(sources)
    }),
  )
})

test('the details of a team are read from its shard, in one request', async () => {
  const asked: SearchRequest[] = []
  await read(['a', 'b'], answerOf(found('a', '{}'), found('b', '{}')), asked)
  expect(asked).toMatchObject([
    {
      path: '/tidemark-form-details/_mget',
      querystring: { routing: 'team-1', realtime: false },
      body: { ids: ['team-1/a', 'team-1/b'] },
    },
  ])
})

test.each([
  ['too few documents', answerOf(found('a', '{}')), 'partial'],
  ['another document', answerOf(found('a', '{}'), found('c', '{}')), 'partial'],
  ['the documents in another order', answerOf(found('b', '{}'), found('a', '{}')), 'partial'],
  ['no answer', '{}', 'partial'],
  ['a failed shard', answerOf(found('a', '{}'), envelope('b', '"error":{"type":"no_shard_available"}')), 'partial'],
  [
    'no index',
    answerOf(...['a', 'b'].map((id) => envelope(id, '"error":{"type":"index_not_found_exception"}'))),
    'missing-index',
  ],
])('an answer with %s is refused', async (_what, answer, reason) => {
  await expect(read(['a', 'b'], answer)).rejects.toMatchObject({ name: 'ElasticsearchUnavailable', reason })
})

test.each([
  '"error":{"type":"illegal_argument_exception","reason":"no data nodes with criteria [n1] found for shard: [0]"}',
  '"error":{"type":"no_shard_available_action_exception","reason":null}',
])('an answer of a node that no longer has the shard is recognised: %s', async (error) => {
  const answer = answerOf(found('a', '{}'), envelope('b', error))
  await expect(read(['a', 'b'], answer)).rejects.toMatchObject({ reason: 'no-copy' })
})

test.each(['', '<html>', '{"docs":[{"_index":"p","_id":"team-1/a",'])('the answer %p is refused', async (answer) => {
  await expect(read(['a'], answer)).rejects.toMatchObject({ name: 'ElasticsearchUnavailable' })
})

const runQuery: RunQuery = (send) => send(signal)

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

test('a large detail counts with the size in its row, and any other with the threshold of large rows', async () => {
  const { list } = knowing({ a: 9_900_000 })
  const weigh = (id: string) => weighDetail({ ...list, version: '1' as ListVersion }, id, runQuery)
  expect(await Promise.all(['a', 'b', 'no identifier'].map(weigh))).toEqual([9_900_000, largeBytes, largeBytes])
})

test('large rows and details of a list are looked up once for each of its versions, and each time without a version', async () => {
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

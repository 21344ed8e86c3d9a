import fc from 'fast-check'
import { type Detail, readDetails } from '../../../../src/api/search/details.ts'
import type { SearchClient, SearchRequest } from '../../../../src/api/search/searchClient.ts'
import type { EntityId, TeamId } from '../../../../src/core/model/ids.ts'

const { signal } = new AbortController()

/** What is read of details when Elasticsearch gives this answer. */
async function read(ids: readonly string[], answer: string, asked: SearchRequest[] = []): Promise<readonly Detail[]> {
  const client: SearchClient = {
    indexPrefix: 'p',
    send: async (request) => {
      asked.push(request)
      return { isFound: true, bytes: Buffer.from(answer) }
    },
  }
  return await readDetails(client, { type: 'forms', teamId: 't' as TeamId }, ids as EntityId[], false, signal)
}
const envelope = (id: string, rest: string): string => `{"_index":"p-form-details-v1-1","_id":"t/${id}",${rest}}`
const found = (id: string, source: string): string =>
  envelope(id, `"_version":3,"_seq_no":1,"_primary_term":1,"_routing":"t","found":true,"_source":${source}`)
const answerOf = (...documents: string[]): string => `{"docs":[${documents.join(',')}]}`
const texts = (details: readonly Detail[]): string[] => details.map(String)

test('sources come back byte for byte, in the order of the ids, whatever they hold', async () => {
  const envelopes = ['{"_index":"', '"},{"_index":"p","_id":"t/b","found":false}', ',"_source":', '{"docs":[']
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

test('the details of a team are asked for on its shard, by one request', async () => {
  const asked: SearchRequest[] = []
  await read(['a', 'b'], answerOf(found('a', '{}'), found('b', '{}')), asked)
  expect(asked).toMatchObject([
    { path: '/p-form-details/_mget', querystring: { routing: 't', realtime: false }, body: { ids: ['t/a', 't/b'] } },
  ])
})

test('what is deleted and what is missing is told apart', async () => {
  const tombstone = '{"tombstone":{"teamId":"t","deletedAt":"2026-01-01T00:00:00.000Z"}}'
  const answer = answerOf(found('a', tombstone), envelope('b', '"found":false'), found('c', '{"c":1}'))
  expect(texts(await read(['a', 'b', 'c'], answer))).toEqual(['deleted', 'missing', '{"c":1}'])
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

test.each(['', '<html>', '{"docs":[{"_index":"p","_id":"t/a",'])('%p is refused', async (answer) => {
  await expect(read(['a'], answer)).rejects.toMatchObject({ name: 'ElasticsearchUnavailable' })
})

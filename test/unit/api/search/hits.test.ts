import fc from 'fast-check'
import { keysIn, readAnswer, rowsIn, type SearchAnswer, searchTeam, totalOf } from '../../../../src/api/search/hits.ts'
import { openListSnapshot } from '../../../../src/api/search/listSnapshot.ts'
import { findCopies } from '../../../../src/api/search/readPrimaries.ts'
import { ElasticsearchUnavailable } from '../../../../src/api/search/searchClient.ts'
import { withoutTabs } from '../../../../src/core/json/rawJson.ts'
import { askedList } from '../../../support/askedList.ts'

const answerOf = (summaries: readonly string[], changes: Readonly<Record<string, string>> = {}): string => {
  const hits = summaries.map(
    (summary) => `{"_id":"t/1","_source":{"teamId":"t","summary":\t${summary}\t},"sort":["t",1]}`,
  )
  const members = {
    took: '1',
    timed_out: 'false',
    _shards: '{"total":1,"successful":1,"skipped":0,"failed":0}',
    hits: `{"total":{"value":${summaries.length},"relation":"eq"},"max_score":null,"hits":[${hits.join(',')}]}`,
    ...changes,
  }
  return `{${Object.entries(members).map(([name, value]) => `"${name}":${value}`)}}`
}

const read = (text: string): SearchAnswer => readAnswer(Buffer.from(text))
const summariesOf = (answer: SearchAnswer): string[] => rowsIn(answer).map(String)

test('any source without tabs between its tokens comes back byte for byte', () => {
  const anyObject = fc.dictionary(fc.string(), fc.jsonValue())
  const spaced = fc.tuple(anyObject, fc.constantFrom(undefined, 1, '\t'))
  fc.assert(
    fc.property(fc.array(spaced), (objects) => {
      const summaries = objects.map(([object, indent]) => withoutTabs(JSON.stringify(object, null, indent)))
      expect(summariesOf(read(answerOf(summaries)))).toEqual(summaries)
    }),
  )
})

const noHits = '{"hits":[]}'
test.each([
  ['that timed out', { timed_out: 'true' }, 'timed_out: '],
  ['of which a shard failed', { _shards: '{"total":2,"successful":1,"skipped":0,"failed":1}' }, '_shards.failed: '],
  ['without shards', { _shards: '{}' }, '_shards.failed: '],
  [
    'with a lower bound as total',
    { hits: '{"total":{"value":1,"relation":"gte"},"hits":[]}' },
    'hits.total.relation: ',
  ],
  ['without hits', { hits: '{}' }, 'hits.hits: '],
  ['with a hit that has no source', { hits: '{"hits":[{"_id":"t/1"}]}' }, '0 were found of 1'],
  ['with a hit that has an empty source', { hits: '{"hits":[{"_source":{}}]}' }, '0 were found of 1'],
  ['with a summary that is not marked', { hits: '{"hits":[{"_source":{"summary":{}}}]}' }, 'summary: '],
  ['with a summary that is null', { hits: '{"hits":[{"_source":{"summary":null}}]}' }, '0 were found of 1'],
  ['that was cut', { hits: '{"hits":[{"_source":{"summary":\t{}' }, 'a summary has no end'],
])('an answer %s is refused, and the reason says what is wrong', (_why, changes, problem) => {
  const refused = (): unknown => rowsIn(read(answerOf(['{}'], changes)))
  expect(refused).toThrow(ElasticsearchUnavailable)
  expect(refused).toThrow('(partial)')
  expect(refused).toThrow(problem)
})

test.each(['', '{}', '[]', 'null', '<html>'])('the answer %p is refused', (text) => {
  expect(() => read(text)).toThrow(ElasticsearchUnavailable)
})

test('a search that does not count has no total', () => {
  expect(totalOf(read(answerOf(['{}', '{}'])))).toBe(2)
  const uncounted = (): unknown => totalOf(read(answerOf([], { hits: noHits })))
  expect(uncounted).toThrow(ElasticsearchUnavailable)
  expect(uncounted).toThrow('(partial): there is no total')
})

test('aggregations come back with the hits', () => {
  const { aggregations, pit_id } = read(answerOf([], { hits: noHits, aggregations: '{"a":1}', pit_id: '"p"' }))
  expect([aggregations, pit_id]).toEqual([{ a: 1 }, 'p'])
})

test('a search of sort keys returns the position and id of each row, and the bytes of large rows', () => {
  const keys = (hits: object) => keysIn(read(answerOf([], { hits: JSON.stringify({ hits }) })), 'summary')
  const position = '2026-03-01T10:00:00.000Z|s|1'
  const large = { sort: ['t', position], fields: { 'large.summaryBytes': ['70000'] } }
  const others = [{ sort: ['t', position], fields: {} }, { sort: ['t', position] }]
  const row = { position, id: 's|1' }
  expect(keys([large, ...others])).toEqual([
    { ...row, bytes: 70_000 },
    { ...row, bytes: undefined },
    { ...row, bytes: undefined },
  ])
  for (const hit of [{}, { sort: ['t'] }, { sort: ['t', 1] }])
    expect(() => keys([hit])).toThrow('(partial): a hit has no position')
})

test('a search accepts no partial results, and reads at most the bytes that its caller allows', async () => {
  const { list, asked } = askedList(() => answerOf([], { hits: noHits }))
  const body = { query: { match_all: {} } }
  await searchTeam(list, body, new AbortController().signal)
  await searchTeam(list, body, new AbortController().signal, 1_000)
  expect(asked).toMatchObject([
    { path: '/tidemark-forms/_search', querystring: { allow_partial_search_results: false }, body },
    { path: '/tidemark-forms/_search', body, maxBytes: 1_000 },
  ])
  expect(asked[0]).not.toHaveProperty('maxBytes')
})

test('an answer about shards or a snapshot that is not JSON is an outage', async () => {
  const { list } = askedList(() => '<html>')
  for (const asked of [findCopies(list, 'x', {}, new AbortController().signal), openListSnapshot(list, 1_000)])
    await expect(asked).rejects.toMatchObject({ reason: 'partial' })
})

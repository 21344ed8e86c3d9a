import fc from 'fast-check'
import { readAnswer, rowsIn, type SearchAnswer, totalOf } from '../../../../src/api/search/hits.ts'
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

test('any JSON without tabs between its tokens comes back byte for byte', () => {
  const anyObject = fc.dictionary(fc.string(), fc.jsonValue())
  const spaced = fc.tuple(anyObject, fc.constantFrom(undefined, 1, '\t'))
  fc.assert(
    fc.property(fc.array(spaced), (objects) => {
      const summaries = objects.map(([object, indent]) => withoutTabs(JSON.stringify(object, null, indent)))
      expect(summariesOf(read(answerOf(summaries)))).toEqual(summaries)
    }),
  )
})

test.each([
  ['that timed out', { timed_out: 'true' }],
  ['of which a shard failed', { _shards: '{"total":2,"successful":1,"skipped":0,"failed":1}' }],
  ['without shards', { _shards: '{}' }],
  ['with a lower bound as total', { hits: '{"total":{"value":1,"relation":"gte"},"hits":[]}' }],
  ['without hits', { hits: '{}' }],
  ['with a hit that has no source', { hits: '{"hits":[{"_id":"t/1"}]}' }],
  ['with a hit that has an empty source', { hits: '{"total":{"value":1,"relation":"eq"},"hits":[{"_source":{}}]}' }],
  ['with a summary that is not marked', { hits: '{"hits":[{"_source":{"summary":{}}}]}' }],
  ['with a summary that is null', { hits: '{"hits":[{"_source":{"summary":null}}]}' }],
  ['that was cut', { hits: '{"hits":[{"_source":{"summary":\t{}' }],
])('an answer %s is refused', (_why, changes) => {
  expect(() => rowsIn(read(answerOf(['{}'], changes)))).toThrow(ElasticsearchUnavailable)
})

test.each(['', '{}', '[]', 'null', '<html>'])('%p is refused', (text) => {
  expect(() => read(text)).toThrow(ElasticsearchUnavailable)
})

test('a search that does not count has no total', () => {
  expect(() => totalOf(read(answerOf([], { hits: '{"hits":[]}' })))).toThrow(ElasticsearchUnavailable)
})

test('an answer about shards or a snapshot that is no JSON is an outage', async () => {
  const { list } = askedList(() => '<html>')
  for (const asked of [findCopies(list, 'x', {}, new AbortController().signal), openListSnapshot(list, 1_000)])
    await expect(asked).rejects.toMatchObject({ reason: 'partial' })
})

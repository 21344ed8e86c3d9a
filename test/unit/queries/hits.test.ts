import fc from 'fast-check'
import { readHits } from '../../../src/queries/hits.ts'
import { ReplicaUnavailable } from '../../../src/queries/unavailable.ts'

const answerOf = (summaries: readonly string[], changes: Readonly<Record<string, string>> = {}): string => {
  const hits = summaries.map((summary) => `{"_id":"t/1","_source":{"teamId":"t","summary":${summary}},"sort":["t",1]}`)
  const members = {
    took: '1',
    timed_out: 'false',
    _shards: '{"total":1,"successful":1,"skipped":0,"failed":0}',
    hits: `{"total":{"value":${summaries.length},"relation":"eq"},"max_score":null,"hits":[${hits.join(',')}]}`,
    ...changes,
  }
  return `{${Object.entries(members).map(([name, value]) => `"${name}":${value}`)}}`
}

describe('readHits', () => {
  test('gives summaries as they were stored', () => {
    const summaries = ['{"10":1,"2":12345678901234567890.10}', '{ "a" : [ "}],{" , "\\"" ] }', '{}']
    expect(readHits(answerOf(summaries))).toEqual({ total: 3, summaries })
  })

  test('gives any JSON back byte for byte', () => {
    const anyObject = fc.dictionary(fc.string(), fc.jsonValue())
    const spaced = fc.tuple(anyObject, fc.constantFrom(undefined, 1, '\t'))
    fc.assert(
      fc.property(fc.array(spaced), (objects) => {
        const summaries = objects.map(([object, indent]) => JSON.stringify(object, null, indent))
        expect(readHits(answerOf(summaries)).summaries).toEqual(summaries)
      }),
    )
  })

  test.each([
    ['that timed out', { timed_out: 'true' }],
    ['of which a shard failed', { _shards: '{"total":2,"successful":1,"skipped":0,"failed":1}' }],
    ['without shards', { _shards: '{}' }],
    ['with a lower bound as total', { hits: '{"total":{"value":1,"relation":"gte"},"hits":[]}' }],
    ['without hits', { hits: '{}' }],
    ['with a hit that has no summary', { hits: '{"total":{"value":1,"relation":"eq"},"hits":[{"_source":{}}]}' }],
  ])('refuses an answer %s', (_why, changes) => {
    expect(() => readHits(answerOf(['{}'], changes))).toThrow(ReplicaUnavailable)
  })

  test.each(['', '{}', '[]', 'null', '<html>'])('refuses %p', (text) => {
    expect(() => readHits(text)).toThrow(ReplicaUnavailable)
  })
})

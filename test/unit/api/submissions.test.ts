import { Registry } from 'prom-client'
import { AnswerCache } from '../../../src/api/answerCache.ts'
import type { RouteContext, RouteDeps } from '../../../src/api/context.ts'
import { parameterReader } from '../../../src/api/parameters.ts'
import { mostBytes } from '../../../src/api/search/counts.ts'
import { AnswerTooLong } from '../../../src/api/search/searchClient.ts'
import { countRecords } from '../../../src/api/submissions.ts'
import { askedList, searchAnswer } from '../../support/askedList.ts'

test('counts that turn out to be long give back the room that they had before they wait for more', async () => {
  const none = { doc_count_error_upper_bound: 0, sum_other_doc_count: 0, buckets: [] }
  const { list, asked } = askedList(({ maxBytes = 0 }) => {
    if (maxBytes < mostBytes) throw new AnswerTooLong()
    return searchAnswer({ total: { value: 0, relation: 'eq' }, hits: [] }, { aggregations: { items: none } })
  }, 'submissions')
  let held = 0
  const waits: number[] = []
  const holdAnswer = async (bytes: number) => {
    waits.push(held)
    // What the request holds already is included.
    const more = Math.max(0, bytes - held)
    held += more
    return () => {
      held -= more
    }
  }
  const freshness = { watermark: null, versions: { submissions: null, forms: null }, settled: {} }
  const runQuery = (send: (signal: AbortSignal) => unknown) => send(new AbortController().signal)
  const ctx = {
    ...{ querystring: 'by=status', path: '/api/v1/record-counts', get: () => '', set: () => undefined },
    state: { holder: { teamId: 'team-1' }, freshness, holdAnswer, runQuery },
  }
  const registry = new Registry()
  const deps = { readParameters: parameterReader(registry), indexReader: list, answers: new AnswerCache(0, registry) }
  await countRecords(ctx as unknown as RouteContext, { ...deps, nowMs: () => 0 } as unknown as RouteDeps)
  expect(asked).toHaveLength(2)
  expect([waits.slice(0, 2), held]).toEqual([[0, 0], mostBytes])
})

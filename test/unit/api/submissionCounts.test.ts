import { Registry } from 'prom-client'
import { AnswerCache } from '../../../src/api/answerCache.ts'
import type { RouteContext, RouteDeps } from '../../../src/api/context.ts'
import { parameterReader } from '../../../src/api/parameters.ts'
import { mostBytes } from '../../../src/api/search/counts.ts'
import type { QueryTurns } from '../../../src/api/search/queryTurns.ts'
import { AnswerTooLong } from '../../../src/api/search/searchClient.ts'
import { countRecords } from '../../../src/api/submissionCounts.ts'
import { askedList, searchAnswer } from '../../support/askedList.ts'

/** Answers a request for counts of a list. */
async function count(querystring: string, list: Partial<RouteDeps['indexReader']>, reserve: QueryTurns['reserve']) {
  const freshness = { watermark: null, versions: { submissions: null, forms: null }, indices: {} }
  const run = (send: (signal: AbortSignal) => unknown) => send(new AbortController().signal)
  const ctx = {
    ...{ querystring, path: '/api/v1/record-counts', get: () => '', set: () => undefined },
    state: { accountKey: { teamId: 'team-1' }, freshness, turns: { reserve, run } },
  }
  const registry = new Registry()
  const deps = { readParameters: parameterReader(registry), indexReader: list, answers: new AnswerCache(0, registry) }
  await countRecords(ctx as unknown as RouteContext, { ...deps, nowMs: () => 0 } as unknown as RouteDeps)
}

test.each([
  ['by=answer&code=q1', 'by=answer'],
  ['by=day,answer&code=q1', 'by=answer'],
  ['by=day&answer.q1=yes', 'answer.q1'],
  ['by=day&answers={"q1":"yes"}', 'answer.q1'],
])('without indexed answers, %s is refused without a search', async (querystring, name) => {
  const { list, asked } = askedList(() => undefined as never, 'submissions')
  await expect(count(querystring, { ...list, hasAnswers: false }, async () => () => undefined)).rejects.toMatchObject({
    status: 400,
    message: `${name} is not available: answers are not indexed here (INDEX_ANSWERS=false)`,
  })
  expect(asked).toEqual([])
})

test('a long answer of counts releases its reserved bytes before it waits for more', async () => {
  const none = { doc_count_error_upper_bound: 0, sum_other_doc_count: 0, buckets: [] }
  const { list, asked } = askedList(({ maxBytes = 0 }) => {
    if (maxBytes < mostBytes) throw new AnswerTooLong()
    return searchAnswer({ total: { value: 0, relation: 'eq' }, hits: [] }, { aggregations: { items: none } })
  }, 'submissions')
  let held = 0
  const waits: number[] = []
  const reserve = async (bytes: number) => {
    waits.push(held)
    // What the request holds already is included.
    const more = Math.max(0, bytes - held)
    held += more
    return () => {
      held -= more
    }
  }
  await count('by=status', list, reserve)
  expect(asked).toHaveLength(2)
  expect([waits.slice(0, 2), held]).toEqual([[0, 0], mostBytes])
})

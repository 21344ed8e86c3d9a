import { EventEmitter } from 'node:events'
import { jest } from '@jest/globals'
import type { RouteContext } from '../../../src/api/context.ts'
import { queueQueries } from '../../../src/api/queryQueue.ts'
import type { RunQuery } from '../../../src/api/search/runQuery.ts'
import { HttpError } from '../../../src/core/process/httpError.ts'

const middleware = queueQueries()

/** A request of a team, and its client. */
async function requestOf(
  teamId: string,
  isClosed = false,
): Promise<{ runQuery: RunQuery; leave(): void; listeners(): number }> {
  const res = Object.assign(new EventEmitter(), { closed: isClosed })
  const ctx = { state: { holder: { teamId } }, res } as unknown as RouteContext
  await middleware(ctx, async () => undefined)
  return { runQuery: ctx.state.runQuery, leave: () => res.emit('close'), listeners: () => res.listenerCount('close') }
}
const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))

afterEach(() => jest.useRealTimers())

test('hands the answer on, or the failure', async () => {
  const { runQuery, listeners } = await requestOf('acme')
  expect(await runQuery(async () => 'answer')).toBe('answer')
  await expect(runQuery(() => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
  expect(listeners()).toBe(1)
})

test('a question is given up when its client goes away', async () => {
  const { runQuery, leave } = await requestOf('acme')
  const ended = runQuery(untilAborted)
  leave()
  await expect(ended).rejects.toThrow('aborted')
})

test('a question of a client that has left before is not asked', async () => {
  const { runQuery } = await requestOf('acme', true)
  await expect(runQuery(async () => 'answer')).rejects.toBeInstanceOf(HttpError)
})

test('a question is given up after five seconds', async () => {
  jest.useFakeTimers()
  const { runQuery } = await requestOf('acme')
  const ended = expect(runQuery(untilAborted)).rejects.toThrow('aborted')
  await jest.advanceTimersByTimeAsync(5_000)
  await ended
})

test('a team whose questions hang holds half of all places; others are looked up, and its own are refused after two seconds', async () => {
  jest.useFakeTimers()
  const hanging = await Promise.all(Array.from({ length: 100 }, () => requestOf('slow')))
  const ended = Promise.allSettled(hanging.map(({ runQuery }) => runQuery(untilAborted)))
  const { runQuery } = await requestOf('acme')
  expect(await runQuery(async () => 'answer')).toBe('answer')
  await jest.advanceTimersByTimeAsync(2_000)
  await jest.advanceTimersByTimeAsync(3_000)
  const reasons = (await ended).map((each) => (each.status === 'rejected' ? each.reason : undefined))
  expect(reasons.filter((reason) => reason instanceof HttpError)).toHaveLength(68)
  expect(reasons.filter((reason) => reason?.message === 'aborted')).toHaveLength(32)
  expect(await runQuery(async () => 'answer')).toBe('answer')
})

import { EventEmitter } from 'node:events'
import { jest } from '@jest/globals'
import type { RouteContext } from '../../../src/api/context.ts'
import { RequestFailure } from '../../../src/api/requestError.ts'
import { lookUpInTurn } from '../../../src/api/queryQueue.ts'
import type { Within } from '../../../src/api/search/exportList.ts'

const middleware = lookUpInTurn()

/** A request of a team, and its client. */
async function requestOf(
  teamId: string,
  isClosed = false,
): Promise<{ lookUp: Within; leave(): void; listeners(): number }> {
  const res = Object.assign(new EventEmitter(), { closed: isClosed })
  const ctx = { state: { holder: { teamId } }, res } as unknown as RouteContext
  await middleware(ctx, async () => undefined)
  return { lookUp: ctx.state.lookUp, leave: () => res.emit('close'), listeners: () => res.listenerCount('close') }
}
const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))

afterEach(() => jest.useRealTimers())

test('hands the answer on, or the failure', async () => {
  const { lookUp, listeners } = await requestOf('acme')
  expect(await lookUp(async () => 'answer')).toBe('answer')
  await expect(lookUp(() => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
  expect(listeners()).toBe(1)
})

test('a question is given up when its client goes away', async () => {
  const { lookUp, leave } = await requestOf('acme')
  const ended = lookUp(untilAborted)
  leave()
  await expect(ended).rejects.toThrow('aborted')
})

test('a question of a client that has left before is not asked', async () => {
  const { lookUp } = await requestOf('acme', true)
  await expect(lookUp(async () => 'answer')).rejects.toBeInstanceOf(RequestFailure)
})

test('a question is given up after five seconds', async () => {
  jest.useFakeTimers()
  const { lookUp } = await requestOf('acme')
  const ended = expect(lookUp(untilAborted)).rejects.toThrow('aborted')
  await jest.advanceTimersByTimeAsync(5_000)
  await ended
})

test('a team whose questions hang holds half of all places; others are looked up, and its own are refused after two seconds', async () => {
  jest.useFakeTimers()
  const hanging = await Promise.all(Array.from({ length: 100 }, () => requestOf('slow')))
  const ended = Promise.allSettled(hanging.map(({ lookUp }) => lookUp(untilAborted)))
  const { lookUp } = await requestOf('acme')
  expect(await lookUp(async () => 'answer')).toBe('answer')
  await jest.advanceTimersByTimeAsync(2_000)
  await jest.advanceTimersByTimeAsync(3_000)
  const reasons = (await ended).map((each) => (each.status === 'rejected' ? each.reason : undefined))
  expect(reasons.filter((reason) => reason instanceof RequestFailure)).toHaveLength(68)
  expect(reasons.filter((reason) => reason?.message === 'aborted')).toHaveLength(32)
  expect(await lookUp(async () => 'answer')).toBe('answer')
})

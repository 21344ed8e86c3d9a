import { jest } from '@jest/globals'
import { Breaker } from '../../../../indexer/deadLetters/breaker.ts'

const observeAll = (breaker: Breaker, count: number, outcome: 'accepted' | 'rejected'): void => {
  for (let each = 0; each < count; each++) breaker.observe(outcome)
}
const never = new AbortController().signal
/** Asks for `count` permits and tells how many of them came. */
function permits(breaker: Breaker, count: number, signal = never): () => number {
  let come = 0
  const take = (): unknown => come++
  for (let each = 0; each < count; each++) breaker.untilAllowed(signal).then(take, () => undefined)
  return () => come
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate'] })
})
afterEach(() => {
  jest.useRealTimers()
})

test('a few hundred rejected records in a row are let through', async () => {
  const breaker = new Breaker()
  observeAll(breaker, 949, 'rejected')
  const come = permits(breaker, 949)
  await turn()
  expect([come(), breaker.isOpen]).toEqual([949, false])
})

test('once nearly all of a thousand records are rejected, they are held, except one a second', async () => {
  const breaker = new Breaker()
  observeAll(breaker, 1_000, 'rejected')
  const come = permits(breaker, 10)
  await turn()
  expect([come(), breaker.isOpen]).toEqual([0, true])
  await jest.advanceTimersByTimeAsync(3_000)
  await turn()
  expect(come()).toBe(3)
})

test('good records afterwards close the breaker, and all held records are let through', async () => {
  const breaker = new Breaker()
  observeAll(breaker, 1_000, 'rejected')
  const come = permits(breaker, 10)
  observeAll(breaker, 50, 'accepted')
  expect(breaker.isOpen).toBe(true)
  observeAll(breaker, 1, 'accepted')
  await turn()
  expect([come(), breaker.isOpen]).toEqual([10, false])
})

test('rejected records among many good ones never open it', () => {
  const breaker = new Breaker()
  for (let each = 0; each < 20_000; each++) breaker.observe(each % 10 !== 0 ? 'rejected' : 'accepted')
  expect(breaker.isOpen).toBe(false)
})

test('records of a revoked partition are no longer held, and take no permits from others', async () => {
  const breaker = new Breaker()
  observeAll(breaker, 1_000, 'rejected')
  const left = new AbortController()
  const first = permits(breaker, 1)
  const held = Promise.allSettled(Array.from({ length: 40_000 }, () => breaker.untilAllowed(left.signal)))
  const others = permits(breaker, 2)
  left.abort(new Error('the partition is another one’s'))
  const startedAtMs = process.hrtime.bigint()
  expect(new Set((await held).map(({ status }) => status))).toEqual(new Set(['rejected']))
  expect(Number(process.hrtime.bigint() - startedAtMs) / 1e6).toBeLessThan(1_000)
  await jest.advanceTimersByTimeAsync(2_000)
  await turn()
  expect([first(), others()]).toEqual([1, 1])
  await expect(breaker.untilAllowed(left.signal)).rejects.toThrow('the partition is another one’s')
})

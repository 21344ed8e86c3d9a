import { jest } from '@jest/globals'
import fc from 'fast-check'
import { FairQueue, type Permit } from '../../../src/api/fairQueue.ts'
import { flushPromises } from '../../support/handClock.ts'

const bounds = { maxRunning: 4, maxRunningPerTenant: 2, maxWaiting: 6, maxWaitMs: 1_000 }
const stays = new AbortController().signal

test('places go to tenants in turn, however many one of them asks for', async () => {
  const queue = new FairQueue({ ...bounds, maxRunning: 1 })
  const order: string[] = []
  const enter = async (name: string): Promise<void> => {
    const place = await queue.acquire(name, stays)
    if (typeof place === 'string') throw new Error(place)
    order.push(name)
    await flushPromises()
    place()
  }
  await Promise.all(['first', 'a', 'a', 'a', 'b', 'b', 'c'].map(enter))
  expect(order).toEqual(['first', 'a', 'b', 'c', 'a', 'b', 'a'])
})

test('who does not wait gets a permit at once, or hears which limit is reached; it overtakes nobody of its tenant', async () => {
  const queue = new FairQueue(bounds)
  const first = queue.acquireNow('a')
  expect([typeof first, typeof queue.acquireNow('a')]).toEqual(['function', 'function'])
  expect(queue.acquireNow('a')).toBe('own-share')
  const waiting = queue.acquire('a', stays)
  expect([typeof queue.acquireNow('b'), typeof queue.acquireNow('b')]).toEqual(['function', 'function'])
  expect(queue.acquireNow('c')).toBe('full')
  if (typeof first === 'function') first()
  expect(await waiting).toBeInstanceOf(Function)
})

test('who has waited too long hears whether others hold the room, or its own tenant, also by what waits in front', async () => {
  jest.useFakeTimers()
  const queue = new FairQueue({ ...bounds, maxRunningPerTenant: 3 })
  await queue.acquire('a', stays, 2)
  await queue.acquire('c', stays, 1)
  const [heavy, behind, other] = [
    queue.acquire('a', stays, 3),
    queue.acquire('a', stays, 1, 500),
    queue.acquire('b', stays, 3),
  ]
  await jest.advanceTimersByTimeAsync(1_000)
  expect(await Promise.all([heavy, behind, other])).toEqual(['own-share', 'own-share', 'full'])
  jest.useRealTimers()
})

type Asked = { readonly name: string; readonly weight: number; readonly client: AbortController; leave(): void }
const ofAny = fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd'), weight: fc.integer({ min: 1, max: 9 }) })
const step = fc.oneof(
  { weight: 3, arbitrary: ofAny },
  { weight: 2, arbitrary: fc.nat(20).map((leaves) => ({ leaves })) },
  { weight: 1, arbitrary: fc.nat(20).map((aborts) => ({ aborts })) },
)
const wide = { maxRunning: 10, maxRunningPerTenant: 6, maxWaiting: 6 }

/** One that is heavier than its tenant may be gets all of that. */
const sum = (some: readonly Asked[]): number =>
  some.reduce((weight, each) => weight + Math.min(each.weight, wide.maxRunningPerTenant), 0)

function expectFair(queue: FairQueue, running: readonly Asked[], waiting: readonly Asked[]): void {
  expect(sum(running)).toBeLessThanOrEqual(wide.maxRunning)
  expect(waiting.length).toBeLessThanOrEqual(wide.maxWaiting)
  const names = new Set([...running, ...waiting].map(({ name }) => name))
  expect(queue.tenants).toBe(names.size)
  for (const name of names) {
    const own = running.filter((each) => each.name === name)
    expect(sum(own)).toBeLessThanOrEqual(wide.maxRunningPerTenant)
    const first = waiting.filter((each) => each.name === name).slice(0, 1)
    const isRoomFree = sum([...running, ...first]) <= wide.maxRunning
    expect(first.length > 0 && isRoomFree && sum([...own, ...first]) <= wide.maxRunningPerTenant).toBe(false)
  }
}

test('whatever comes and goes, no bound is passed, no place stays free while one waits for it, nobody overtakes their own tenant, and who has gone is forgotten', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), async (steps) => {
      const queue = new FairQueue(wide)
      const [running, waiting, refused]: [Asked[], Asked[], Permit[]] = [[], [], []]
      let hasOvertaken = false
      const arrive = (name: string, weight: number): void => {
        const asked = { name, weight, client: new AbortController(), leave: () => undefined }
        waiting.push(asked)
        const hear = (permit: Permit): void => {
          const isNext = waiting.find((each) => each.name === name) === asked
          waiting.splice(waiting.indexOf(asked), 1)
          if (typeof permit === 'string') refused.push(permit)
          else running.push({ ...asked, leave: permit })
          hasOvertaken ||= typeof permit === 'function' && !isNext
        }
        queue.acquire(name, asked.client.signal, weight).then(hear, refused.push)
      }
      for (const each of steps) {
        if ('name' in each) arrive(each.name, each.weight)
        else if ('aborts' in each) waiting[each.aborts % waiting.length]?.client.abort()
        else running.splice(each.leaves % Math.max(1, running.length), 1)[0]?.leave()
        await flushPromises()
        expectFair(queue, running, waiting)
      }
      while (running.length > 0) {
        running.pop()?.leave()
        await flushPromises()
      }
      expect([waiting, queue.tenants, hasOvertaken]).toEqual([[], 0, false])
      expect(refused.filter((why) => why !== 'full' && why !== 'aborted')).toEqual([])
    }),
  )
})

test('with less room open there is still room for one, and what waits gets in when it opens', async () => {
  const queue = new FairQueue(bounds)
  queue.open(1 / 64)
  const first = await queue.acquire('a', stays)
  expect(typeof first).toBe('function')
  const second = queue.acquire('b', stays)
  await flushPromises()
  queue.open(1)
  expect(await second).toBeInstanceOf(Function)
})

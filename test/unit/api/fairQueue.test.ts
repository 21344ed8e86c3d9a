import { jest } from '@jest/globals'
import fc from 'fast-check'
import { FairQueue, type Permit, type Release } from '../../../src/api/fairQueue.ts'
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

test('whoever goes away while waiting takes no place, and is forgotten', async () => {
  const queue = new FairQueue({ ...bounds, maxRunning: 1 })
  const first = await queue.acquire('a', stays)
  const client = new AbortController()
  const second = queue.acquire('b', client.signal)
  const third = queue.acquire('c', stays)
  client.abort()
  expect(await second).toBe('aborted')
  expect(queue.tenants).toBe(2)
  if (typeof first !== 'string') first()
  expect(await third).toBeInstanceOf(Function)
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

const step = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('a', 'b', 'c', 'd').map((name) => ({ name })) },
  { weight: 2, arbitrary: fc.nat(20).map((leaves) => ({ leaves })) },
)

test('whatever comes and goes, no bound is passed, no place stays free while one waits for it, and all are given back', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const queue = new FairQueue(bounds)
      const running: { name: string; leave: Release }[] = []
      const refused: Permit[] = []
      let waiting = 0
      const waitingOf = new Map<string, number>()
      const arrive = (name: string): void => {
        waiting++
        waitingOf.set(name, (waitingOf.get(name) ?? 0) + 1)
        const entered = queue.acquire(name, stays).then((place) => {
          waiting--
          waitingOf.set(name, (waitingOf.get(name) ?? 0) - 1)
          if (typeof place === 'string') refused.push(place)
          else running.push({ name, leave: place })
        })
        entered.catch(() => undefined)
      }
      const runningOf = (name: string): number => running.filter((each) => each.name === name).length
      for (const each of steps) {
        if ('name' in each) arrive(each.name)
        else running.splice(each.leaves % Math.max(1, running.length), 1)[0]?.leave()
        await flushPromises()
        expect(running.length).toBeLessThanOrEqual(bounds.maxRunning)
        expect(waiting).toBeLessThanOrEqual(bounds.maxWaiting)
        for (const name of ['a', 'b', 'c', 'd']) {
          expect(runningOf(name)).toBeLessThanOrEqual(bounds.maxRunningPerTenant)
          const couldRun = running.length < bounds.maxRunning && runningOf(name) < bounds.maxRunningPerTenant
          expect(couldRun && (waitingOf.get(name) ?? 0) > 0).toBe(false)
        }
      }
      while (running.length > 0) {
        running.pop()?.leave()
        await flushPromises()
      }
      expect(waiting).toBe(0)
      expect(new Set(refused)).toEqual(new Set(refused.length > 0 ? ['full'] : []))
    }),
  )
})

test('a permit has a weight: room is given out by weight, and one that is heavier than its tenant may be gets all of that', async () => {
  const queue = new FairQueue({ ...bounds, maxRunning: 10, maxRunningPerTenant: 6 })
  const first = await queue.acquire('a', stays, 100)
  const [heavy, light] = [queue.acquire('b', stays, 5), queue.acquire('c', stays, 4)]
  expect(await light).toBeInstanceOf(Function)
  if (typeof first === 'function') first()
  expect(await heavy).toBeInstanceOf(Function)
})

test('one heavy permit that is given back lets in several light ones', async () => {
  const queue = new FairQueue({ ...bounds, maxRunning: 4, maxRunningPerTenant: 4 })
  const first = await queue.acquire('a', stays, 4)
  const waiting = ['b', 'c', 'b', 'c'].map((name) => queue.acquire(name, stays))
  if (typeof first === 'function') first()
  expect((await Promise.all(waiting)).map((each) => typeof each)).toEqual(Array(4).fill('function'))
})

test('when a heavy one goes away while waiting, a light one that waited behind it gets in', async () => {
  const queue = new FairQueue({ ...bounds, maxRunning: 10, maxRunningPerTenant: 10 })
  await queue.acquire('a', stays, 8)
  const client = new AbortController()
  const [heavy, light] = [queue.acquire('b', client.signal, 5), queue.acquire('b', stays)]
  client.abort()
  expect([await heavy, typeof (await light)]).toEqual(['aborted', 'function'])
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

test('whoever waits in vain hears whether it was its own tenant that left no room', async () => {
  jest.useFakeTimers()
  const queue = new FairQueue(bounds)
  await Promise.all(['a', 'a', 'b', 'b'].map((name) => queue.acquire(name, stays)))
  const late = [queue.acquire('a', stays), queue.acquire('c', stays)]
  await jest.advanceTimersByTimeAsync(bounds.maxWaitMs)
  expect(await Promise.all(late)).toEqual(['own-share', 'full'])
  jest.useRealTimers()
})

test('nothing is remembered of tenants that neither run nor wait, also of those that were refused', async () => {
  const queue = new FairQueue({ maxRunning: 1, maxRunningPerTenant: 1, maxWaiting: 0, maxWaitMs: 1_000 })
  const permit = queue.acquireNow('a')
  for (const name of ['b', 'c', 'd']) expect(await queue.acquire(name, stays)).toBe('full')
  for (const name of ['e', 'f']) expect(queue.acquireNow(name)).toBe('full')
  expect(queue.tenants).toBe(1)
  if (typeof permit === 'function') permit()
  expect(queue.tenants).toBe(0)
})

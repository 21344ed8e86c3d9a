import { jest } from '@jest/globals'
import fc from 'fast-check'
import { FairQueue, type Permit, type Release } from '../../../src/api/fairQueue.ts'
import { flushPromises } from '../../support/handClock.ts'

const bounds = { maxRunning: 4, maxRunningPerTeam: 2, maxWaiting: 6, maxWaitMs: 1_000 }
const stays = new AbortController().signal

type Outcome = Permit | { readonly kind: 'waits' }

const kindOf = ({ kind }: Outcome): string => kind

function release(permit: Outcome): void {
  if (permit.kind === 'granted') permit.release()
}

/** Who hears at once whether there is a permit. */
async function heardAtOnce(permit: Promise<Permit>): Promise<Outcome> {
  let heard: Outcome = { kind: 'waits' }
  permit.then(
    (each) => {
      heard = each
    },
    () => undefined,
  )
  await flushPromises()
  return heard
}

test('teams get permits in turn, however many requests one of them has', async () => {
  const queue = new FairQueue({ ...bounds, maxRunning: 1 })
  const order: string[] = []
  const enter = async (name: string): Promise<void> => {
    const place = await queue.acquire(name, stays)
    if (place.kind !== 'granted') throw new Error(place.kind)
    order.push(name)
    await flushPromises()
    place.release()
  }
  await Promise.all(['first', 'a', 'a', 'a', 'b', 'b', 'c'].map(enter))
  expect(order).toEqual(['first', 'a', 'b', 'c', 'a', 'b', 'a'])
})

test('a request that does not wait gets a permit at once or the limit that is reached, and overtakes none of its team', async () => {
  const queue = new FairQueue(bounds)
  const first = queue.acquireNow('a')
  expect([first.kind, queue.acquireNow('a').kind]).toEqual(['granted', 'granted'])
  expect(queue.acquireNow('a').kind).toBe('own-share')
  const waiting = queue.acquire('a', stays)
  expect([queue.acquireNow('b').kind, queue.acquireNow('b').kind]).toEqual(['granted', 'granted'])
  expect(queue.acquireNow('c').kind).toBe('full')
  release(first)
  expect(kindOf(await waiting)).toBe('granted')
})

test('a request that times out learns whether requests of its own team, running or waiting before it, or others use the capacity', async () => {
  jest.useFakeTimers()
  const queue = new FairQueue({ ...bounds, maxRunningPerTeam: 3 })
  await queue.acquire('a', stays, 2)
  await queue.acquire('c', stays, 1)
  const [heavy, behind, other] = [
    queue.acquire('a', stays, 3),
    queue.acquire('a', stays, 1, 500),
    queue.acquire('b', stays, 3),
  ]
  await jest.advanceTimersByTimeAsync(1_000)
  expect((await Promise.all([heavy, behind, other])).map(kindOf)).toEqual(['own-share', 'own-share', 'full'])
  jest.useRealTimers()
})

type Asked = { readonly name: string; readonly weight: number; readonly client: AbortController; leave(): void }
const ofAny = fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd'), weight: fc.integer({ min: 1, max: 9 }) })
const step = fc.oneof(
  { weight: 3, arbitrary: ofAny },
  { weight: 2, arbitrary: fc.nat(20).map((leaves) => ({ leaves })) },
  { weight: 1, arbitrary: fc.nat(20).map((aborts) => ({ aborts })) },
)
const wide = { maxRunning: 10, maxRunningPerTeam: 6, maxWaiting: 6 }

/** One that is heavier than its team may be gets all of that. */
const sum = (some: readonly Asked[]): number =>
  some.reduce((weight, each) => weight + Math.min(each.weight, wide.maxRunningPerTeam), 0)

/** The first waiter of a team, if the team's share allows it to run. */
function allowed(name: string, running: readonly Asked[], waiting: readonly Asked[]): readonly Asked[] {
  const first = waiting.filter((each) => each.name === name).slice(0, 1)
  const own = running.filter((each) => each.name === name)
  return sum([...own, ...first]) <= wide.maxRunningPerTeam ? first : []
}

function expectFair(queue: FairQueue, running: readonly Asked[], waiting: readonly Asked[]): void {
  expect(sum(running)).toBeLessThanOrEqual(wide.maxRunning)
  expect(waiting.length).toBeLessThanOrEqual(wide.maxWaiting)
  const names = new Set([...running, ...waiting].map(({ name }) => name))
  expect(queue.teams).toBe(names.size)
  for (const name of names) {
    const own = running.filter((each) => each.name === name)
    expect(sum(own)).toBeLessThanOrEqual(wide.maxRunningPerTeam)
    const isWithinRoom = (first: readonly Asked[]): boolean => sum([...running, ...first]) <= wide.maxRunning
    const first = allowed(name, running, waiting)
    // Room that is free is kept for another team that needs more.
    const isKept = [...names].some((other) => !isWithinRoom(allowed(other, running, waiting)))
    expect(first.length > 0 && isWithinRoom(first) && !isKept).toBe(false)
  }
}

test('for any arrivals and departures, no bound is exceeded, no room stays free while a request may take it, no request overtakes another of its team, and departed teams are forgotten', async () => {
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
          if (permit.kind === 'granted') running.push({ ...asked, leave: permit.release })
          else refused.push(permit)
          hasOvertaken ||= permit.kind === 'granted' && !isNext
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
      expect([waiting, queue.teams, hasOvertaken]).toEqual([[], 0, false])
      expect(refused.filter(({ kind }) => kind !== 'full' && kind !== 'aborted')).toEqual([])
    }),
  )
})

test('with little room open one request still runs, and waiting requests run when more room opens', async () => {
  const queue = new FairQueue(bounds)
  queue.open(1 / 64)
  const first = await queue.acquire('a', stays)
  expect(first.kind).toBe('granted')
  const second = queue.acquire('b', stays)
  expect(kindOf(await heardAtOnce(second))).toBe('waits')
  queue.open(1)
  expect(kindOf(await second)).toBe('granted')
})

test('with half of the room open, half as much runs, in all and of each team', async () => {
  const queue = new FairQueue({ maxRunning: 8, maxRunningPerTeam: 4 })
  queue.open(1 / 2)
  const heard = []
  for (const name of ['a', 'a', 'a', 'b', 'b', 'c']) heard.push(await heardAtOnce(queue.acquire(name, stays)))
  expect(heard.map(({ kind }) => kind === 'granted')).toEqual([true, true, false, true, true, false])
  expect(queue.usedFraction).toBe(1 / 2)
})

test('a request that does not wait overtakes none of its team, even if the waiting request is heavier', async () => {
  const queue = new FairQueue(bounds)
  queue.acquireNow('a')
  expect(kindOf(await heardAtOnce(queue.acquire('a', stays, 2)))).toBe('waits')
  expect(queue.acquireNow('a').kind).toBe('own-share')
})

const lasting = { ...wide, maxWaiting: 1_000, maxWaitMs: 60_000 }

test('a heavy request gets room that becomes free, however many light requests keep coming', async () => {
  const queue = new FairQueue(lasting)
  const running: Release[] = []
  const enter = async (name: string, weight: number): Promise<void> => {
    const permit = await queue.acquire(name, stays, weight)
    if (permit.kind === 'granted') running.push(permit.release)
  }
  for (const name of ['a', 'a', 'a', 'b', 'b', 'b', 'c', 'c', 'c']) await enter(name, 1)
  const heavy = queue.acquire('d', stays, 6)
  const arriving: Promise<void>[] = []
  for (let round = 0; round < 9; round++) {
    arriving.push(enter(['a', 'b', 'c'][round % 3] ?? '', 1))
    running.shift()?.()
    await flushPromises()
  }
  expect(kindOf(await heavy)).toBe('granted')
  // It left room for so many of those that came later.
  expect(running).toHaveLength(4)
  for (const leave = await heavy; arriving.length > 0; await arriving.pop()) {
    release(leave)
    running.shift()?.()
  }
})

test('with little room open, a request heavier than all of it runs alone, however many light requests keep coming', async () => {
  const queue = new FairQueue(lasting)
  queue.open(1 / 5)
  const [first, second] = [await queue.acquire('a', stays), await queue.acquire('b', stays)]
  const heavy = queue.acquire('heavy', stays, 6)
  const light = queue.acquire('c', stays)
  for (const leave of [first, second]) release(leave)
  const leave = await heavy
  expect(leave.kind).toBe('granted')
  release(leave)
  expect(kindOf(await light)).toBe('granted')
})

test('while a heavy request waits for a slow one, light requests use the other room, and the heavy request runs as soon as the slow one ends', async () => {
  const queue = new FairQueue(lasting)
  const slow = await queue.acquire('slow', stays, 6)
  const heavy = queue.acquire('heavy', stays, 6)
  for (let round = 0; round < 2; round++) {
    const light = await Promise.all(['a', 'b', 'c', 'd'].map((name) => heardAtOnce(queue.acquire(name, stays))))
    for (const permit of light) expect(permit.kind).toBe('granted')
    for (const permit of round === 0 ? light : []) release(permit)
  }
  release(slow)
  expect(kindOf(await heavy)).toBe('granted')
})

test('a request that times out because room is kept for another team learns that others take the room', async () => {
  jest.useFakeTimers()
  const queue = new FairQueue({ ...wide, maxWaitMs: 1_000 })
  await queue.acquire('slow', stays, 5)
  const [heavy, light] = [queue.acquire('heavy', stays, 6), queue.acquire('light', stays, 5, 500)]
  await jest.advanceTimersByTimeAsync(1_000)
  expect((await Promise.all([heavy, light])).map(kindOf)).toEqual(['full', 'full'])
  jest.useRealTimers()
})

test('a permit that is released twice frees its room once', async () => {
  const queue = new FairQueue({ ...bounds, maxRunning: 2 })
  const [first] = [queue.acquireNow('a'), queue.acquireNow('b')]
  for (let times = 0; times < 2; times++) release(first)
  expect([queue.acquireNow('c').kind, queue.acquireNow('d').kind]).toEqual(['granted', 'full'])
})

test('a client that disconnected before its request gets no permit', async () => {
  const queue = new FairQueue(bounds)
  expect(kindOf(await queue.acquire('a', AbortSignal.abort()))).toBe('aborted')
  expect([queue.teams, queue.usedFraction]).toEqual([0, 0])
})

test('as many requests wait as maxWaiting says, and none without it', async () => {
  const unbounded = new FairQueue({ maxRunning: 1, maxRunningPerTeam: 1 })
  unbounded.acquireNow('a')
  expect(kindOf(await heardAtOnce(unbounded.acquire('b', stays)))).toBe('full')
  const queue = new FairQueue({ ...bounds, maxRunning: 1, maxWaiting: 2 })
  queue.acquireNow('a')
  const answers = ['b', 'c', 'd'].map((name) => heardAtOnce(queue.acquire(name, stays)))
  expect((await Promise.all(answers)).map(kindOf)).toEqual(['waits', 'waits', 'full'])
})

test('a waiting request ends as soon as its client disconnects, and makes room for others', async () => {
  const queue = new FairQueue({ ...bounds, maxRunning: 1, maxWaiting: 1 })
  queue.acquireNow('a')
  const client = new AbortController()
  const waiting = queue.acquire('b', client.signal)
  expect([kindOf(await heardAtOnce(waiting)), queue.teams]).toEqual(['waits', 2])
  client.abort()
  expect([kindOf(await heardAtOnce(waiting)), queue.teams]).toEqual(['aborted', 1])
  const answers = ['c', 'd'].map((name) => heardAtOnce(queue.acquire(name, stays)))
  expect((await Promise.all(answers)).map(kindOf)).toEqual(['waits', 'full'])
})

test('a client that disconnects after it got its permit, or keeps the permit for long, does not change the queue', async () => {
  jest.useFakeTimers()
  const queue = new FairQueue({ ...bounds, maxRunning: 1, maxWaiting: 1 })
  const first = queue.acquireNow('a')
  const client = new AbortController()
  const second = queue.acquire('b', client.signal)
  release(first)
  expect(kindOf(await second)).toBe('granted')
  client.abort()
  await jest.advanceTimersByTimeAsync(2_000)
  const answers = ['c', 'd'].map((name) => heardAtOnce(queue.acquire(name, stays)))
  expect((await Promise.all(answers)).map(kindOf)).toEqual(['waits', 'full'])
  expect([queue.teams, queue.usedFraction]).toEqual([2, 1])
  jest.useRealTimers()
})

/** The ticks that the longest permit of a history lasts. */
const maxTicks = 4
const names = ['a', 'b', 'c', 'd', 'e']
const lightOrHeavy = fc.oneof(
  { weight: 5, arbitrary: fc.constant(1) },
  { weight: 1, arbitrary: fc.integer({ min: 2, max: 9 }) },
)
const arrival = fc.record({
  name: fc.constantFrom(...names),
  weight: lightOrHeavy,
  ticks: fc.integer({ min: 1, max: maxTicks }),
})
/** What comes at each tick: as much as there is room for, and more. */
const history = fc.array(fc.array(arrival, { minLength: 3, maxLength: 6 }), {
  minLength: 30,
  maxLength: 60,
  size: 'max',
})

test("a request within its team's share waits for at most one permit of each other team, whatever keeps coming", async () => {
  await fc.assert(
    fc.asyncProperty(history, async (arrivals) => {
      const queue = new FairQueue(lasting)
      let running: (Asked & { endsAt: number })[] = []
      const waiting: Asked[] = []
      const waits = new Map<Asked, number>()
      const refused: unknown[] = []
      const arrive = ({ name, weight, ticks }: { name: string; weight: number; ticks: number }, now: () => number) => {
        const asked = { name, weight, client: new AbortController(), leave: () => undefined }
        waiting.push(asked)
        const enter = (permit: Permit): void => {
          waiting.splice(waiting.indexOf(asked), 1)
          if (permit.kind === 'granted') running.push({ ...asked, leave: permit.release, endsAt: now() + ticks })
        }
        queue.acquire(name, stays, weight).then(enter, refused.push)
      }
      let tick = 0
      for (; tick < arrivals.length || running.length > 0; tick++) {
        const ended = running.filter(({ endsAt }) => endsAt <= tick)
        running = running.filter(({ endsAt }) => endsAt > tick)
        for (const { leave } of ended) leave()
        for (const each of arrivals[tick] ?? []) arrive(each, () => tick)
        await flushPromises()
        for (const first of names.flatMap((name) => allowed(name, running, waiting)))
          waits.set(first, (waits.get(first) ?? 0) + 1)
      }
      expect([waiting, queue.teams, refused]).toEqual([[], 0, []])
      expect(Math.max(0, ...waits.values())).toBeLessThanOrEqual(names.length * maxTicks)
    }),
  )
})

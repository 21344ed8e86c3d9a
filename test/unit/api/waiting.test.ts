import { EventEmitter } from 'node:events'
import { jest } from '@jest/globals'
import { Registry } from 'prom-client'
import type { RouteContext } from '../../../src/api/context.ts'
import { createWaiting, preferredWaitSeconds, type Wait, WaitingRoom } from '../../../src/api/waiting.ts'
import { stallMs } from '../../../src/core/http/httpServer.ts'
import { type TeamId, type TeamList, teamList } from '../../../src/core/model/ids.ts'
import type { ListVersion } from '../../../src/core/redis/listVersions.ts'
import { flushPromises, handClock } from '../../support/handClock.ts'

const [first, second] = ['run gen 1', 'run gen 2'] as [ListVersion, ListVersion]

afterEach(() => jest.useRealTimers())

/** Requests of one team with `Prefer: wait=60`; clock, ticks, versions and rows are in the hands of the test. */
function openHouse() {
  const { nowMs, tickAt } = handClock()
  let version = first
  let changes = 1
  let hasRows = false
  let looks = 0
  const room = new WaitingRoom(async (lists) => lists.map(() => version), nowMs, new Registry())
  const freshness = () => ({ watermark: null, versions: { forms: version, submissions: version } })
  let watched = 0
  const watchKey = () => {
    watched++
    return () => void watched--
  }
  const checkAgain = async (ctx: RouteContext) => void Object.assign(ctx.state, { freshness: freshness() })
  const waitForChange = createWaiting({ room, checkAgain, watchKey, elapsedMs: nowMs })
  const timeoutsMs: number[] = []
  const passTo = async (untilMs: number): Promise<void> => {
    while (nowMs() < untilMs) await tickAt(nowMs() + 25)
  }
  return {
    passTo,
    timeoutsMs,
    watched: () => watched,
    looks: () => looks,
    /** Gives the list another version; with rows for the client, if so. */
    change: (isForClient: boolean) => {
      version = `run gen ${++changes}` as ListVersion
      hasRows = isForClient
    },
    /** When the request went on; undefined while it waits. */
    ask: (): { readonly endedMs?: number } => {
      const ended: { endedMs?: number } = {}
      const ctx = {
        get: () => 'wait=60',
        set: () => undefined,
        req: { socket: { setTimeout: (ms: number) => timeoutsMs.push(ms) } },
        res: Object.assign(new EventEmitter(), { closed: false }),
        state: { accountKey: { teamId: 'acme' as TeamId }, freshness: freshness() },
      } as unknown as RouteContext
      const look = async (): Promise<boolean> => {
        looks++
        return hasRows
      }
      waitForChange(ctx, 'forms', look).then(
        () => Object.assign(ended, { endedMs: nowMs() }),
        () => undefined,
      )
      return ended
    },
  }
}

test('a request with rows is answered at once, and one without rows waits until there are any', async () => {
  const { ask, change, passTo } = openHouse()
  const waits = ask()
  await passTo(30_000)
  expect(waits.endedMs).toBeUndefined()
  change(true)
  await passTo(30_100)
  expect(waits.endedMs).toBe(30_025)
  const finds = ask()
  await passTo(30_125)
  expect(finds.endedMs).toBe(30_100)
})

test('a list whose changes bring no rows is searched more and more rarely, at last every two seconds', async () => {
  const { ask, change, looks, passTo } = openHouse()
  ask()
  const looksAtMs: number[] = []
  for (let atMs = 25; atMs <= 8_000; atMs += 25) {
    change(false)
    const before = looks()
    await passTo(atMs)
    if (looks() > before) looksAtMs.push(atMs)
  }
  expect(looksAtMs).toEqual([25, 125, 325, 725, 1_525, 3_125, 5_125, 7_125])
})

test('a request whose time is over gets rows that came just before', async () => {
  const { ask, looks, passTo } = openHouse()
  const asked = ask()
  await passTo(59_975)
  expect([looks(), asked.endedMs]).toEqual([1, undefined])
  await passTo(60_000)
  expect([looks(), asked.endedMs]).toEqual([2, 60_000])
})

test('a waiting request may keep its connection silent and has its key watched, both until the wait ends', async () => {
  const { ask, change, watched, timeoutsMs, passTo } = openHouse()
  ask()
  await passTo(100)
  expect([watched(), timeoutsMs]).toEqual([1, [0]])
  change(true)
  await passTo(200)
  expect([watched(), timeoutsMs]).toEqual([0, [0, stallMs]])
})

const team = (at: number): TeamId => `team-${at}` as TeamId
const listOf = (at: number): TeamList => teamList('forms', team(at))

/** A room whose clock and ticks, and whose Redis, are in the hands of the test. */
function openRoom() {
  const versions = new Map<TeamList, ListVersion | null>()
  const reads: TeamList[][] = []
  const { nowMs, isTicking, tickAt } = handClock()
  let answer = async (lists: readonly TeamList[]): Promise<(ListVersion | null)[]> =>
    lists.map((list) => versions.get(list) ?? first)
  const ask = (lists: readonly TeamList[]): Promise<(ListVersion | null)[]> => {
    reads.push([...lists])
    return answer(lists)
  }
  const room = new WaitingRoom(ask, nowMs, new Registry())
  const woken: string[] = []
  return {
    ...{ room, versions, reads, woken, isTicking, tickAt },
    redisAnswers: (with_: typeof answer) => {
      answer = with_
    },
    /** Begins a wait; what ends it is noted under `name`. */
    wait: (name: string, of: number, wait: Partial<Wait> = {}) => {
      const leaveRoom = room.enter(team(of))
      if (leaveRoom === undefined) return undefined
      const gone = new AbortController()
      const whole = { list: listOf(of), version: first, notBeforeMs: 0, deadlineMs: 60_000, ...wait }
      room.untilChanged(whole, gone.signal).then(
        () => woken.push(name),
        () => undefined,
      )
      const leave = (): void => {
        gone.abort()
        leaveRoom()
      }
      return { leave }
    },
  }
}

test('one call of Redis reads the versions of all lists, each once, and none is made while no request waits', async () => {
  const { wait, versions, reads, isTicking, tickAt } = openRoom()
  expect(isTicking()).toBe(false)
  for (const at of [1, 1, 2, 1, 3]) wait(`${at}`, at)
  await tickAt(25)
  expect(reads).toEqual([[listOf(1), listOf(2), listOf(3)]])
  for (const at of [1, 2, 3]) versions.set(listOf(at), second)
  await tickAt(50)
  expect([reads.length, isTicking()]).toEqual([2, false])
})

test('a call of Redis begins only after the previous one has ended, and deadlines are kept all the same', async () => {
  const { wait, redisAnswers, reads, woken, tickAt } = openRoom()
  redisAnswers(() => new Promise(() => undefined))
  wait('a', 1, { deadlineMs: 75 })
  for (const atMs of [25, 50, 75, 100]) await tickAt(atMs)
  expect([reads.length, woken]).toEqual([1, ['a']])
})

test('a request that pauses between searches hears of a change only after its pause', async () => {
  const { wait, versions, reads, woken, tickAt } = openRoom()
  wait('a', 1, { notBeforeMs: 100 })
  versions.set(listOf(1), second)
  await tickAt(75)
  expect([reads.length, woken]).toEqual([0, []])
  await tickAt(100)
  expect(woken).toEqual(['a'])
})

test('a request that begins to wait during a call of Redis is not judged by its answer', async () => {
  const { wait, redisAnswers, versions, woken, tickAt } = openRoom()
  const { promise, resolve } = Promise.withResolvers<(ListVersion | null)[]>()
  wait('a', 1)
  redisAnswers(() => promise)
  await tickAt(25)
  wait('b', 1, { version: second })
  resolve([first])
  versions.set(listOf(1), second)
  redisAnswers(async (lists) => lists.map(() => second))
  await flushPromises()
  expect(woken).toEqual([])
  await tickAt(50)
  expect(woken).toEqual(['a'])
})

test('a client that disconnects frees its place at once, also while waiting', async () => {
  const { wait, room, woken, isTicking } = openRoom()
  const places = Array.from({ length: 10 }, (_, at) => wait(`${at}`, 1))
  expect(room.enter(team(1))).toBeUndefined()
  places[3]?.leave()
  await flushPromises()
  expect(woken).toEqual(['3'])
  expect(room.enter(team(1))).toBeDefined()
  expect(room.enter(team(1))).toBeUndefined()
  for (const place of places) place?.leave()
  expect(isTicking()).toBe(false)
})

test('at most a thousand requests wait in a process, of whichever team', () => {
  const { wait } = openRoom()
  const places = Array.from({ length: 1_001 }, (_, at) => wait(`${at}`, at))
  expect(places.filter((place) => place !== undefined)).toHaveLength(1_000)
})

test('a change of every list wakes waiting requests a few at a time', async () => {
  const { wait, versions, woken, tickAt } = openRoom()
  for (let at = 0; at < 120; at++) {
    wait(`${at}`, at)
    versions.set(listOf(at), second)
  }
  const counts: number[] = []
  for (const atMs of [25, 50, 75]) {
    await tickAt(atMs)
    counts.push(woken.length)
  }
  expect(counts).toEqual([50, 100, 120])
})

test.each([
  ['wait=1', 1],
  ['wait=60', 60],
  ['Wait = 10', 10],
  ['wait="10"', 10],
  ['respond-async, wait=10', 10],
  ['wait=10; foo=bar, respond-async', 10],
  ['note="a, wait=5", wait=10', 10],
  ['note="a \\" wait=5", wait=10', 10],
  ['wait=10, wait=20', 10],
])('%s asks for a wait of %d s', (prefer, seconds) => {
  expect(preferredWaitSeconds(prefer)).toBe(seconds)
})

test.each([
  ...['', 'respond-async', 'wait', 'wait=', 'wait=0', 'wait=61', 'wait=1.5', 'wait=-5', 'wait=1e1', 'wait=ten'],
  ...['wait="10', 'await=10', 'wait-10=10', 'note="wait=10"', 'wait=0, wait=10'],
])('%j asks for no wait', (prefer) => {
  expect(preferredWaitSeconds(prefer)).toBeUndefined()
})

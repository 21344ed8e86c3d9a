import { jest } from '@jest/globals'
import { Registry } from 'prom-client'
import { type Wait, WaitingRoom } from '../../../../src/api/waiting.ts'
import type { TeamId } from '../../../../src/core/model/ids.ts'
import { type TeamList, teamList } from '../../../../src/core/model/teamList.ts'
import type { ListVersion } from '../../../../src/core/stores/listVersions.ts'
import { handClock, settle } from '../../../support/handClock.ts'

const team = (at: number): TeamId => `team-${at}` as TeamId
const listOf = (at: number): TeamList => teamList('forms', team(at))
const [first, second] = ['run gen 1', 'run gen 2'] as [ListVersion, ListVersion]

/** A room whose clock and ticks, and whose Redis, are in the hands of the test. */
function openRoom() {
  const versions = new Map<TeamList, ListVersion | null>()
  const reads: TeamList[][] = []
  const { nowMs, isTicking, tickAt } = handClock()
  let answer = async (lists: readonly TeamList[]): Promise<(ListVersion | null)[]> =>
    lists.map((list) => versions.get(list) ?? first)
  const room = new WaitingRoom(
    (lists) => {
      reads.push([...lists])
      return answer(lists)
    },
    nowMs,
    new Registry(),
  )
  const woken: string[] = []
  return {
    room,
    versions,
    reads,
    woken,
    isTicking,
    tickAt,
    redisAnswers: (with_: typeof answer) => {
      answer = with_
    },
    /** Begins a wait; what ends it is noted under `name`. */
    wait: (name: string, of: number, wait: Partial<Wait> = {}) => {
      const leave = room.enter(team(of))
      if (leave === undefined) return undefined
      const gone = new AbortController()
      const whole = { list: listOf(of), version: first, notBeforeMs: 0, deadlineMs: 60_000, ...wait }
      room.untilChanged(whole, gone.signal).then(
        () => woken.push(name),
        () => undefined,
      )
      return {
        leave: () => {
          gone.abort()
          leave()
        },
      }
    },
  }
}

afterEach(() => jest.useRealTimers())

test('who waits for a list goes on when it has another version, and nobody else', async () => {
  const { wait, versions, woken, tickAt } = openRoom()
  wait('a', 1)
  wait('b', 1)
  wait('c', 2)
  await tickAt(25)
  expect(woken).toEqual([])
  versions.set(listOf(1), second)
  await tickAt(50)
  expect(woken).toEqual(['a', 'b'])
})

test('one question asks for all lists, each once; none is asked while nobody waits', async () => {
  const { wait, versions, reads, isTicking, tickAt } = openRoom()
  expect(isTicking()).toBe(false)
  for (const at of [1, 1, 2, 1, 3]) wait(`${at}`, at)
  await tickAt(25)
  expect(reads).toEqual([[listOf(1), listOf(2), listOf(3)]])
  for (const at of [1, 2, 3]) versions.set(listOf(at), second)
  await tickAt(50)
  expect([reads.length, isTicking()]).toEqual([2, false])
})

test('no second question is asked before the first one is answered; deadlines are kept all the same', async () => {
  const { wait, redisAnswers, reads, woken, tickAt } = openRoom()
  redisAnswers(() => new Promise(() => undefined))
  wait('a', 1, { deadlineMs: 75 })
  for (const atMs of [25, 50, 75, 100]) await tickAt(atMs)
  expect([reads.length, woken]).toEqual([1, ['a']])
})

test('who rests hears of a change only afterwards', async () => {
  const { wait, versions, reads, woken, tickAt } = openRoom()
  wait('a', 1, { notBeforeMs: 100 })
  versions.set(listOf(1), second)
  await tickAt(75)
  expect([reads.length, woken]).toEqual([0, []])
  await tickAt(100)
  expect(woken).toEqual(['a'])
})

test('who begins to wait while Redis is asked is not judged by that answer', async () => {
  const { wait, redisAnswers, versions, woken, tickAt } = openRoom()
  const { promise, resolve } = Promise.withResolvers<(ListVersion | null)[]>()
  wait('a', 1)
  redisAnswers(() => promise)
  await tickAt(25)
  wait('b', 1, { version: second })
  resolve([first])
  versions.set(listOf(1), second)
  redisAnswers(async (lists) => lists.map(() => second))
  await settle()
  expect(woken).toEqual([])
  await tickAt(50)
  expect(woken).toEqual(['a'])
})

test('who leaves gives the place back at once, also while waiting', async () => {
  const { wait, room, woken, isTicking } = openRoom()
  const places = Array.from({ length: 10 }, (_, at) => wait(`${at}`, 1))
  expect(room.enter(team(1))).toBeUndefined()
  places[3]?.leave()
  await settle()
  expect(woken).toEqual(['3'])
  expect(room.enter(team(1))).toBeDefined()
  expect(room.enter(team(1))).toBeUndefined()
  for (const place of places) place?.leave()
  expect(isTicking()).toBe(false)
})

test('a thousand wait in a process, whoever they are', () => {
  const { wait } = openRoom()
  const places = Array.from({ length: 1_001 }, (_, at) => wait(`${at}`, at))
  expect(places.filter((place) => place !== undefined)).toHaveLength(1_000)
})

test('a change of everything is heard by some after the other', async () => {
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

test('when the process stops, everybody goes on, and nobody waits any more', async () => {
  const { wait, room, woken, isTicking } = openRoom()
  wait('a', 1)
  wait('b', 2)
  room.close()
  await settle()
  expect(woken).toEqual(['a', 'b'])
  expect(wait('c', 1)).toBeUndefined()
  await room.untilChanged(
    { list: listOf(3), version: first, notBeforeMs: 0, deadlineMs: 1 },
    new AbortController().signal,
  )
  expect(isTicking()).toBe(false)
})

import { EventEmitter } from 'node:events'
import { jest } from '@jest/globals'
import { Registry } from 'prom-client'
import type { News, RouteContext } from '../../../../src/api/context.ts'
import { createWaiting, WaitingRoom } from '../../../../src/api/waiting.ts'
import type { TeamId } from '../../../../src/core/model/ids.ts'
import { stallMs } from '../../../../src/core/process/httpServer.ts'
import type { ListVersion } from '../../../../src/core/stores/listVersions.ts'
import { handClock } from '../../../support/handClock.ts'

const [first, second] = ['run gen 1', 'run gen 2'] as [ListVersion, ListVersion]

/** Requests of one team with `Prefer: wait=60`; clock, ticks, versions and news are in the hands of the test. */
function openHouse() {
  const { nowMs, tickAt } = handClock()
  let version = first
  let news: News = 'none'
  const room = new WaitingRoom(async (lists) => lists.map(() => version), nowMs, new Registry())
  const freshness = () => ({ watermark: null, versions: { forms: version, submissions: version } })
  const waitForChange = createWaiting({
    room,
    checkAgain: async (ctx) => {
      Object.assign(ctx.state, { freshness: freshness() })
    },
    watchKey: () => {
      watched++
      return () => {
        watched--
      }
    },
    elapsedMs: nowMs,
  })
  let watched = 0
  const timeoutsMs: number[] = []
  const permits: string[] = []
  const passTo = async (untilMs: number): Promise<void> => {
    while (nowMs() < untilMs) await tickAt(nowMs() + 25)
  }
  return {
    passTo,
    permits,
    timeoutsMs,
    watched: () => watched,
    now: (found: News) => {
      news = found
    },
    change: (found: News) => {
      version = version === first ? second : first
      news = found
    },
    /** When the request went on; undefined while it waits. */
    ask: (): { readonly endedMs?: number } => {
      const ended: { endedMs?: number } = {}
      const ctx = {
        get: () => 'wait=60',
        set: () => undefined,
        req: { socket: { setTimeout: (ms: number) => timeoutsMs.push(ms) } },
        res: Object.assign(new EventEmitter(), { closed: false }),
        state: {
          holder: { teamId: 'acme' as TeamId },
          freshness: freshness(),
          permit: { pause: () => permits.push('paused'), resume: () => permits.push('resumed') },
        },
      } as unknown as RouteContext
      waitForChange(ctx, 'forms', async () => news).then(
        () => Object.assign(ended, { endedMs: nowMs() }),
        () => undefined,
      )
      return ended
    },
  }
}

afterEach(() => jest.useRealTimers())

test('while the watermark stands still, rows that the client may have are answered once a second', async () => {
  const { ask, now, passTo } = openHouse()
  now('unpromised')
  const endedMs: unknown[] = []
  for (let at = 0; at < 60; at++) {
    const asked = ask()
    await passTo(1_000 * (at + 1))
    endedMs.push(asked.endedMs)
  }
  expect(endedMs).toEqual(Array.from({ length: 60 }, (_, at) => 1_000 * (at + 1)))
})

test.each<[string, News, number, News, number]>([
  // What it finds at first, what it finds from when on, and when it is answered.
  ['rows that the client may have: sooner once the watermark moves', 'unpromised', 150, 'promised', 300],
  ['nothing: at once when any rows come', 'none', 100, 'unpromised', 125],
  ['what it holds: when the list has another version, however late', 'held', 30_000, 'unpromised', 30_025],
  ['what it holds: no more often than once a second', 'held', 100, 'unpromised', 1_000],
])('a request that finds %s', async (_what, first, atMs, later, endedMs) => {
  const { ask, now, change, passTo } = openHouse()
  now(first)
  const asked = ask()
  await passTo(atMs)
  expect(asked.endedMs).toBeUndefined()
  if (first === 'unpromised') now(later)
  else change(later)
  await passTo(atMs + 2_000)
  expect(asked.endedMs).toBe(endedMs)
})

test('a wait ends when its time is over, whatever there is', async () => {
  for (const news of ['none', 'held'] as const) {
    const { ask, now, passTo } = openHouse()
    now(news)
    const asked = ask()
    await passTo(61_000)
    expect(asked.endedMs).toBe(60_000)
  }
})

test('who waits has no permit, and has it again when it goes on', async () => {
  const { ask, change, permits, passTo } = openHouse()
  ask()
  await passTo(100)
  expect(permits).toEqual(['paused'])
  change('unpromised')
  await passTo(200)
  expect(permits).toEqual(['paused', 'resumed'])
})

test('the connection of who waits may be silent, and the key is watched; both end with the wait', async () => {
  const { ask, change, watched, timeoutsMs, passTo } = openHouse()
  ask()
  await passTo(100)
  expect([watched(), timeoutsMs]).toEqual([1, [0]])
  change('promised')
  await passTo(200)
  expect([watched(), timeoutsMs]).toEqual([0, [0, stallMs]])
})

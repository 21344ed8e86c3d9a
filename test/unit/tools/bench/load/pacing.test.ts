import { setTimeout as sleep } from 'node:timers/promises'
import { dueTimes, openLoop } from '../../../../../tools/bench/load/pacing.ts'
import { seededRandom } from '../../../../../tools/demo/random.ts'

const due = (jitter: number, count: number): number[] => [
  ...dueTimes(1_000, jitter, seededRandom('pacing')).take(count),
]
const bounds = { untilMs: 40, maxUnderWay: 100 }
const everyMs = (step: number): Generator<number> =>
  (function* () {
    for (let dueMs = 0; ; dueMs += step) yield dueMs
  })()

test('moments keep the pace; jitter moves each of them, and none after it', () => {
  const moments = due(0.8, 1_000)
  expect(moments).toEqual(moments.toSorted((a, b) => a - b))
  const [first] = due(0, 1)
  for (const [turn, moment] of moments.entries()) {
    expect(moment).toBeGreaterThanOrEqual(0)
    expect(Math.abs(moment - (first ?? 0) - turn * 1_000)).toBeLessThanOrEqual(401)
  }
  expect(new Set(moments.slice(1).map((moment, at) => moment - (moments[at] ?? 0))).size).toBeGreaterThan(900)
})

test('without jitter the moments are as far apart as they shall be', () => {
  const moments = due(0, 5)
  expect(moments.slice(1).map((moment, at) => Math.round(moment - (moments[at] ?? 0)))).toEqual([
    1_000, 1_000, 1_000, 1_000,
  ])
})

test('what is not over does not put off what follows; all of it is waited for', async () => {
  const begun: number[] = []
  let over = 0
  const { latenessMs, leftOut } = await openLoop(
    everyMs(10),
    { ...bounds, beganMs: performance.now() },
    async (dueMs) => {
      begun.push(dueMs)
      await sleep(100)
      over += 1
    },
  )
  expect(begun).toEqual([0, 10, 20, 30])
  expect(over).toBe(4)
  expect(latenessMs).toHaveLength(4)
  expect(leftOut).toBe(0)
})

test('no more than so many are under way; what finds no room is counted', async () => {
  const { latenessMs, leftOut } = await openLoop(
    everyMs(10),
    { ...bounds, maxUnderWay: 1, beganMs: performance.now() },
    () => sleep(200),
  )
  expect([latenessMs.length, leftOut]).toEqual([4, 3])
})

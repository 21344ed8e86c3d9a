import { ProgressWatch, type WatchedPartition } from '../../../../indexer/status/progressWatch.ts'
import { watched, watchedGroup } from '../../../support/observedState.ts'

const startMs = 1_000_000

/** Notes a survey of one partition at each of the times (s), and returns the partition, and the rates, of the last one. */
function watch(...surveys: readonly (readonly [atSeconds: number, members: Partial<WatchedPartition>])[]) {
  const progress = new ProgressWatch()
  const noted = surveys.map(([atSeconds, members]) =>
    progress.note(watchedGroup({ partitions: [watched('forms/0', members)] }), startMs + atSeconds * 1_000),
  )
  const { partitions = [], processedPerSecond, appendedPerSecond } = noted.at(-1) ?? {}
  const [{ committedAtMs = undefined, standsSinceMs = undefined } = {}] = partitions
  const secondsOf = (ms: number | undefined) => (ms === undefined ? undefined : (ms - startMs) / 1_000)
  const rates = { processedPerSecond, appendedPerSecond }
  return { ...rates, committedAt: secondsOf(committedAtMs), standsSince: secondsOf(standsSinceMs) }
}

const covered = (seconds: number) => ({ coveredUntilMs: startMs + seconds * 1_000 })

test('a commit is as old as the survey that first showed it, or as the time that it covers', () => {
  expect(watch([0, {}]).committedAt).toBeUndefined()
  expect(watch([0, covered(-7)]).committedAt).toBe(-7)
  expect(watch([0, covered(-7)], [5, covered(-7)]).committedAt).toBe(-7)
  expect(watch([0, covered(-7)], [5, covered(3)]).committedAt).toBe(5)
  expect(watch([0, covered(-7)], [5, { position: 130n }]).committedAt).toBe(5)
  expect(watch([0, {}], [5, { position: 130n }], [10, { position: 130n }]).committedAt).toBe(5)
})

test('a partition stands while records wait and its position does not move', () => {
  const waiting = { behindRecords: 3 }
  expect(watch([0, {}], [5, {}]).standsSince).toBeUndefined()
  expect(watch([0, {}], [5, waiting], [10, waiting]).standsSince).toBe(5)
  expect(watch([0, waiting], [5, { ...waiting, position: 121n }]).standsSince).toBeUndefined()
  expect(watch([0, waiting], [5, {}], [10, waiting]).standsSince).toBe(10)
})

test('records are counted as processed and as appended for a minute', () => {
  expect(watch([0, {}])).toMatchObject({ processedPerSecond: undefined, appendedPerSecond: undefined })
  const rates = watch([0, { position: 100n, behindRecords: 50 }], [10, { position: 300n, behindRecords: 150 }])
  expect(rates).toMatchObject({ processedPerSecond: 20, appendedPerSecond: 30 })
})

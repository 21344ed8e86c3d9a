import type { CheckResult } from '../../src/core/process/health.ts'
import type { Lag } from '../publisher.ts'
import type { Sample } from './history.ts'
import type { Observed } from './observe.ts'

/** What an indexer knows of itself. */
export type OwnView = {
  readonly startedAtMs: number
  readonly maxInFlightBytes: number
  readonly inFlightBytes: number
  readonly residentBytes: number
  /** Of the partitions that it owns. */
  readonly lags: readonly Lag[]
  /** The number of the generation that it writes. */
  readonly generation: number | undefined
  /** Records that it has settled since it started, by outcome. */
  readonly records: Readonly<Record<'indexed' | 'stale' | 'dead-letter', number>>
  /** `host, process 12`. */
  readonly name: string
}

/** Everything that the status page shows. */
export type StatusView = {
  readonly nowMs: number
  readonly own: OwnView
  readonly checks: readonly CheckResult[]
  readonly observed: Observed
  readonly samples: readonly Sample[]
  readonly isRefreshing: boolean
}

export type Level = 'good' | 'warn' | 'bad' | 'idle'

const lateSeconds = 30
const veryLateSeconds = 300

/** The same bounds as the alerts have. */
export function watermarkLevel(ageSeconds: number | undefined): Level {
  if (ageSeconds === undefined || ageSeconds > veryLateSeconds) return 'bad'
  return ageSeconds > lateSeconds ? 'warn' : 'good'
}

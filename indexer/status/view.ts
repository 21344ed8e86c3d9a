import type { TopicPartition } from '../../src/core/kafka/sourceRecord.ts'
import type { CheckResult } from '../../src/core/process/health.ts'
import type { Observed, Sample } from './observe.ts'

/** The state of the indexer that serves the page. */
export type OwnView = {
  readonly startedAtMs: number
  readonly maxInFlightBytes: number
  readonly inFlightBytes: number
  readonly residentBytes: number
  /** Those that it owns. */
  readonly partitions: readonly TopicPartition[]
  /** The generation that it writes. */
  readonly generation: number | undefined
  /** Records that it has processed since it started, by outcome. */
  readonly records: Readonly<Record<'indexed' | 'stale' | 'dead-letter', number>>
  /** Its host and process, such as `host, process 12`. */
  readonly name: string
}

/** All data that the status page shows. */
export type StatusView = {
  readonly nowMs: number
  readonly own: OwnView
  readonly checks: readonly CheckResult[]
  readonly observed: Observed
  readonly samples: readonly Sample[]
  readonly isRefreshing: boolean
}

import type { Counter, Histogram, Registry } from 'prom-client'
import { metricsIn } from '../src/core/monitoring/metrics.ts'
import type { ItemOutcome } from './bulk/bulkFailure.ts'

// Buckets: 1 KiB to 32 MiB, and 5 ms to a minute.
const byteBuckets = [1_024, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 8_388_608, 33_554_432]
const secondBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

const recordOutcomes = ['indexed', 'stale', 'dead-letter'] as const
export type RecordOutcome = (typeof recordOutcomes)[number]

/** `docs/metrics.md` describes them. */
export type PipelineMetrics = {
  readonly records: Counter<'topic' | 'outcome'>
  readonly revisionConflicts: Counter<'topic'>
  countItems(items: readonly ItemOutcome[]): void
  readonly bulkSeconds: Histogram
  readonly bulkBytes: Histogram
  readonly refreshSeconds: Histogram
  readonly rebalances: Counter
}

/** `topics`: the source topics. */
export function pipelineMetrics(registry: Registry, topics: readonly string[]): PipelineMetrics {
  const { counter, histogram } = metricsIn(registry)
  const records = counter('tidemark_records_total', 'Processed records', ['topic', 'outcome'])
  const conflictsHelp = 'Records whose revision is stored with another content; they become dead letters'
  const revisionConflicts = counter('tidemark_revision_conflicts_total', conflictsHelp, ['topic'])
  // Prometheus's `rate()` and `increase()` would miss the first count without a sample of 0.
  for (const topic of topics) {
    for (const outcome of recordOutcomes) records.inc({ topic, outcome }, 0)
    revisionConflicts.inc({ topic }, 0)
  }
  const bulkItems = counter('tidemark_bulk_items_total', 'Documents of bulk requests, by outcome', ['outcome'])
  return {
    records,
    revisionConflicts,
    countItems(items: readonly ItemOutcome[]): void {
      const counts = new Map<ItemOutcome['kind'], number>()
      for (const { kind } of items) counts.set(kind, (counts.get(kind) ?? 0) + 1)
      for (const [outcome, count] of counts) bulkItems.inc({ outcome }, count)
    },
    bulkSeconds: histogram('tidemark_bulk_duration_seconds', 'Duration of bulk requests', secondBuckets),
    bulkBytes: histogram('tidemark_bulk_bytes', 'Size of bulk requests', byteBuckets),
    refreshSeconds: histogram('tidemark_refresh_duration_seconds', 'Duration of refreshes', secondBuckets),
    rebalances: counter('tidemark_rebalances_total', 'Group rebalances in which this indexer was assigned partitions'),
  }
}

import type { Gauge, Registry } from 'prom-client'
import { metricsIn, type Sample } from '../src/core/process/metrics.ts'
import type { ContestedDigest } from '../src/core/stores/accountKeyStore.ts'
import type { ItemOutcome } from './bulk/bulkFailure.ts'
import { currentLags, type Observed, type OwnState } from './status/observe.ts'

/** From a single small record to more than the bound of a request. */
const byteBuckets = [1_024, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 8_388_608, 33_554_432]
const secondBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

const recordOutcomes = ['indexed', 'stale', 'dead-letter'] as const
export type RecordOutcome = (typeof recordOutcomes)[number]

export type PipelineMetrics = ReturnType<typeof pipelineMetrics>

export function pipelineMetrics(registry: Registry, topics: readonly string[]) {
  const { counter, histogram } = metricsIn(registry)
  const records = counter('tidemark_records_total', 'Processed records', ['topic', 'outcome'])
  const conflicts = 'Records whose revision is stored with another content; they become dead letters'
  const revisionConflicts = counter('tidemark_revision_conflicts_total', conflicts, ['topic'])
  // Without a sample of 0, rate() and increase() would miss the first count.
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

/** The metrics of one indexer, `own`, and of the state that all indexers share and report, `observed`. */
export function indexerMetrics(
  registry: Registry,
  own: () => OwnState,
  observed: () => Observed,
  contested: () => readonly ContestedDigest[],
  clock: () => number,
): void {
  const { gauge, labelledGauge } = metricsIn(registry)
  const seconds = (ms: number | undefined): Sample[1] => (ms === undefined ? undefined : ms / 1_000)

  gauge('tidemark_in_flight_bytes', 'Bytes of records in flight; a value counts three times', () => own().inFlightBytes)
  gauge('tidemark_in_flight_limit_bytes', 'MAX_IN_FLIGHT_BYTES', () => own().maxInFlightBytes)
  const blocked = 'How long the record that waits longest could not be written to Elasticsearch; 0 if none waits'
  gauge('tidemark_write_blocked_seconds', blocked, () => seconds(own().writerBlockedMs))
  const offset = 'How far the clock of this indexer is ahead of the clock of Redis; the slower one limits the watermark'
  gauge('tidemark_clock_offset_seconds', offset, () => seconds(own().clockOffsetMs))
  gauge('tidemark_watermark_age_seconds', 'Age of the watermark that this indexer published last', () => {
    const { watermarkMs } = own()
    return watermarkMs === undefined ? undefined : Math.max(0, clock() - watermarkMs) / 1_000
  })

  const perPartition = (name: string, help: string, of: 'behindRecords' | 'behindSeconds'): Gauge =>
    labelledGauge(name, help, ['topic', 'partition'], () =>
      currentLags(observed(), clock()).map((lag) => [{ topic: lag.topic, partition: lag.partition }, lag[of]]),
    )
  perPartition('tidemark_lag_records', 'Offsets from the searchable position to the end', 'behindRecords')
  perPartition('tidemark_lag_seconds', 'Age of the oldest record that is not searchable; 0 if none', 'behindSeconds')
  const paused = '1 while the indexer has paused the partition, which it owns, else 0'
  labelledGauge('tidemark_partition_paused', paused, ['topic', 'partition'], () =>
    own().partitions.map(({ topic, partition, isPaused }): Sample => [{ topic, partition }, Number(isPaused)]),
  )
  const perIndex = (name: string, help: string, of: 'documents' | 'bytes'): Gauge =>
    labelledGauge(name, help, ['index'], () =>
      (observed().indices?.value ?? []).map((index) => [{ index: index.name }, index[of]]),
    )
  perIndex('tidemark_index_documents', 'Documents of an index, tombstones included', 'documents')
  perIndex('tidemark_index_bytes', 'Disk usage of an index, replicas included', 'bytes')
  gauge('tidemark_dead_letters', 'Dead letters in their topic', () => observed().group?.value.deadLetters)
  gauge('tidemark_rebuild_running', '1 while a rebuild is running, else 0', () => {
    const { group } = observed()
    return group && Number(group.value.rebuild?.isRunning ?? false)
  })
  const progress = 'Share of the records that the generation of a rebuild holds; absent without a rebuild'
  gauge('tidemark_rebuild_progress_ratio', progress, () => observed().group?.value.rebuild?.progress)
  gauge('tidemark_redis_memory_bytes', 'Memory that Redis uses', () => observed().redisMemory?.value.usedBytes)
  const limit = 'maxmemory of Redis; absent without one'
  gauge('tidemark_redis_memory_limit_bytes', limit, () => observed().redisMemory?.value.limitBytes)
  const contestedHelp = '1 for each live account key that opens nothing, because another one claims the same digest'
  labelledGauge('tidemark_contested_account_keys', contestedHelp, ['key'], () =>
    contested().flatMap(({ keys }) => keys.map((key): Sample => [{ key }, 1])),
  )
}

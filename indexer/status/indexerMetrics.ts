import type { Gauge, Registry } from 'prom-client'
import { metricsIn, type Sample } from '../../src/core/monitoring/metrics.ts'
import type { ContestedDigest } from '../../src/core/redis/accountKeyStore.ts'
import { currentLags, type Observed } from './observe.ts'
import type { OwnState } from './ownState.ts'

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
  gauge('tidemark_write_blocked_seconds', blocked, () => {
    const waits = own().obstacles.find(({ kind }) => kind === 'write')
    return waits?.kind === 'write' ? waits.forMs / 1_000 : 0
  })
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

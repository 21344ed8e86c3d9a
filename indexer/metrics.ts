import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { ContestedDigest } from '../src/core/stores/accountKeyStore.ts'
import type { ItemOutcome } from './bulk/bulkFailure.ts'
import { currentLags, type Observed, type OwnState, type PartitionLag } from './status/observe.ts'

/** Bulk bodies from a single small record to one larger than the bound. */
const bulkByteBuckets = [1_024, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 8_388_608, 33_554_432]
const durationBucketsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

const recordOutcomes = ['indexed', 'stale', 'dead-letter'] as const
export type RecordOutcome = (typeof recordOutcomes)[number]

export type PipelineMetrics = ReturnType<typeof pipelineMetrics>

/** The metrics of a pipeline, for the records of `topics`. */
export function pipelineMetrics(registry: Registry, topics: readonly string[]) {
  const registers = [registry]
  const records = new Counter({
    name: 'tidemark_records_total',
    help: 'Processed records, by topic and outcome',
    labelNames: ['topic', 'outcome'] as const,
    registers,
  })
  // Without a sample of 0, rate() and increase() would miss the first count.
  for (const topic of topics) for (const outcome of recordOutcomes) records.inc({ topic, outcome }, 0)
  const revisionConflicts = new Counter({
    name: 'tidemark_revision_conflicts_total',
    help: 'Records whose revision is stored with another content, by topic; they become dead letters',
    labelNames: ['topic'] as const,
    registers,
  })
  for (const topic of topics) revisionConflicts.inc({ topic }, 0)
  const bulkItems = new Counter({
    name: 'tidemark_bulk_items_total',
    help: 'Documents of bulk requests, by how the response to each was classified',
    labelNames: ['outcome'] as const,
    registers,
  })
  return {
    records,
    revisionConflicts,
    /** The processed records of all topics, by outcome. */
    recordsByOutcome: () => sumByOutcome(records),
    countItems: (items: readonly ItemOutcome[]): void => {
      const counts = new Map<ItemOutcome['kind'], number>()
      for (const { kind } of items) counts.set(kind, (counts.get(kind) ?? 0) + 1)
      for (const [outcome, count] of counts) bulkItems.inc({ outcome }, count)
    },
    bulkSeconds: new Histogram({
      name: 'tidemark_bulk_duration_seconds',
      help: 'Duration of bulk requests',
      buckets: durationBucketsSeconds,
      registers,
    }),
    bulkBytes: new Histogram({
      name: 'tidemark_bulk_bytes',
      help: 'Size of bulk requests',
      buckets: bulkByteBuckets,
      registers,
    }),
    refreshSeconds: new Histogram({
      name: 'tidemark_refresh_duration_seconds',
      help: 'Duration of refreshes',
      buckets: durationBucketsSeconds,
      registers,
    }),
    rebalances: new Counter({
      name: 'tidemark_rebalances_total',
      help: 'Group rebalances in which this indexer was assigned partitions',
      registers,
    }),
  }
}

async function sumByOutcome(records: Counter<'topic' | 'outcome'>): Promise<Readonly<Record<RecordOutcome, number>>> {
  const { values } = await records.get()
  const sum = (outcome: RecordOutcome): number =>
    values.reduce((total, { labels, value }) => total + (labels.outcome === outcome ? value : 0), 0)
  return { indexed: sum('indexed'), stale: sum('stale'), 'dead-letter': sum('dead-letter') }
}

/** The metrics of one indexer. `own` is read whenever the metrics are asked for. */
export function indexerMetrics(registry: Registry, own: () => OwnState, clock: () => number): void {
  const age = ({ watermarkMs }: OwnState): number | undefined =>
    watermarkMs === undefined ? undefined : Math.max(0, clock() - watermarkMs)
  const inSeconds = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : ms / 1_000)
  const gauges: readonly (readonly [name: string, help: string, of: (own: OwnState) => number | undefined])[] = [
    [
      'tidemark_in_flight_bytes',
      'Bytes of records fetched and not yet processed; the value of a record counts three times',
      ({ inFlightBytes }) => inFlightBytes,
    ],
    [
      'tidemark_in_flight_limit_bytes',
      'Limit of tidemark_in_flight_bytes: MAX_IN_FLIGHT_BYTES',
      ({ maxInFlightBytes }) => maxInFlightBytes,
    ],
    [
      'tidemark_write_blocked_seconds',
      'For how long the record that waits longest could not be written to Elasticsearch; 0 if none waits after a failure',
      ({ writerBlockedMs }) => inSeconds(writerBlockedMs),
    ],
    [
      'tidemark_clock_offset_seconds',
      'How far the clock of this indexer is ahead of the clock of Redis; the slower one limits the watermark',
      ({ clockOffsetMs }) => inSeconds(clockOffsetMs),
    ],
    [
      'tidemark_watermark_age_seconds',
      'Age of the published watermark; absent until this indexer has published one',
      (state) => inSeconds(age(state)),
    ],
  ]
  for (const [name, help, of] of gauges) gauge(registry, name, help, [], () => labelled(of(own())))
}

/** Metrics of the state that all indexers share: every indexer reports the same values. */
export function surveyMetrics(
  registry: Registry,
  observed: () => Observed,
  contested: () => readonly ContestedDigest[],
  clock: () => number,
): void {
  const perPartition = (name: string, help: string, of: (lag: PartitionLag) => number | undefined): void =>
    gauge(registry, name, help, ['topic', 'partition'], () =>
      currentLags(observed(), clock()).flatMap((lag) =>
        labelled(of(lag), { topic: lag.topic, partition: lag.partition }),
      ),
    )
  perPartition(
    'tidemark_lag_records',
    'Offsets from the searchable position to the end of a partition',
    ({ behindRecords }) => behindRecords,
  )
  perPartition(
    'tidemark_lag_seconds',
    'Age of the oldest record of a partition that is not searchable yet; 0 if there is none',
    ({ behindSeconds }) => behindSeconds,
  )
  const perIndex = (name: string, help: string, of: 'documents' | 'bytes'): void =>
    gauge(registry, name, help, ['index'], () =>
      (observed().indices?.value ?? []).flatMap((index) => labelled(index[of], { index: index.name })),
    )
  perIndex('tidemark_index_documents', 'Documents of an index, tombstones included', 'documents')
  perIndex('tidemark_index_bytes', 'Disk usage of an index, replicas included', 'bytes')
  const gauges: readonly (readonly [name: string, help: string, of: (observed: Observed) => number | undefined])[] = [
    ['tidemark_dead_letters', 'Dead letters in the dead-letters topic', ({ group }) => group?.value.deadLetters],
    [
      'tidemark_rebuild_running',
      '1 while a rebuild is running, else 0',
      ({ group }) => group && Number(group.value.rebuild?.isRunning ?? false),
    ],
    [
      'tidemark_rebuild_progress_ratio',
      'Share of the records that the generation of a rebuild holds; absent without a rebuild',
      ({ group }) => group?.value.rebuild?.progress,
    ],
    ['tidemark_redis_memory_bytes', 'Memory that Redis uses', ({ redisMemory }) => redisMemory?.value.usedBytes],
    [
      'tidemark_redis_memory_limit_bytes',
      'maxmemory of Redis; absent without one',
      ({ redisMemory }) => redisMemory?.value.limitBytes,
    ],
  ]
  for (const [name, help, of] of gauges) gauge(registry, name, help, [], () => labelled(of(observed())))
  gauge(
    registry,
    'tidemark_contested_account_keys',
    '1 for each live account key that opens nothing, because another one claims the same digest',
    ['key'],
    () => contested().flatMap(({ keys }) => keys.flatMap((key) => labelled(1, { key }))),
  )
}

type Sample = readonly [labels: Record<string, string | number>, value: number]

/** A value of a gauge; none while it is unknown. */
const labelled = (value: number | undefined, labels: Sample[0] = {}): Sample[] =>
  value === undefined ? [] : [[labels, value]]

/** A gauge with one value for each set of labels that is known now; absent while none is. */
function gauge(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly string[],
  read: () => readonly Sample[],
): void {
  new Gauge({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      this.reset()
      // Without labels it is 0 after a reset.
      this.remove({})
      for (const [labels, value] of read()) this.set(labels, value)
    },
  })
}

import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { ItemOutcome } from './bulk/bulkFailure.ts'
import type { Lag } from './publisher.ts'

/** Bulk bodies from a single small record to one larger than the bound. */
const bulkByteBuckets = [1_024, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 8_388_608, 33_554_432]
const durationBucketsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

const recordOutcomes = ['indexed', 'stale', 'dead-letter'] as const
export type RecordOutcome = (typeof recordOutcomes)[number]

export type PipelineMetrics = ReturnType<typeof pipelineMetrics>

/** What a pipeline counts and measures of the records of `topics`. */
export function pipelineMetrics(registry: Registry, topics: readonly string[]) {
  const registers = [registry]
  const records = new Counter({
    name: 'tidemark_records_total',
    help: 'Records by topic and what became of them',
    labelNames: ['topic', 'outcome'] as const,
    registers,
  })
  // A counter that begins with its first count shows no increase.
  for (const topic of topics) for (const outcome of recordOutcomes) records.inc({ topic, outcome }, 0)
  const bulkItems = new Counter({
    name: 'tidemark_bulk_items_total',
    help: 'Documents of bulk requests by how Elasticsearch answered for each',
    labelNames: ['outcome'] as const,
    registers,
  })
  return {
    records,
    countItems: (items: readonly ItemOutcome[]): void => {
      const counts = new Map<ItemOutcome['kind'], number>()
      for (const { kind } of items) counts.set(kind, (counts.get(kind) ?? 0) + 1)
      for (const [outcome, count] of counts) bulkItems.inc({ outcome }, count)
    },
    bulkSeconds: new Histogram({
      name: 'tidemark_bulk_duration_seconds',
      help: 'Time of a bulk request',
      buckets: durationBucketsSeconds,
      registers,
    }),
    bulkBytes: new Histogram({
      name: 'tidemark_bulk_bytes',
      help: 'Size of a bulk request',
      buckets: bulkByteBuckets,
      registers,
    }),
    refreshSeconds: new Histogram({
      name: 'tidemark_refresh_duration_seconds',
      help: 'Time of a refresh',
      buckets: durationBucketsSeconds,
      registers,
    }),
    rebalances: new Counter({
      name: 'tidemark_rebalances_total',
      help: 'Assignments of partitions to this indexer',
      registers,
    }),
  }
}

/** What else an indexer tells of itself. `current` is read whenever the metrics are asked for. */
export function indexerMetrics(
  registry: Registry,
  current: {
    readonly maxInFlightBytes: number
    inFlightBytes(): number
    watermarkMs(): number | undefined
    clockOffsetMs(): number | undefined
    lags(): readonly Lag[]
    nowMs(): number
  },
): void {
  const registers = [registry]
  const placed = { labelNames: ['topic', 'partition'] as const, registers }
  new Gauge({
    name: 'tidemark_lag_records',
    help: 'Offsets between what is visible and the end of a partition that this indexer owns',
    ...placed,
    collect() {
      this.reset()
      for (const { topic, partition, records } of current.lags()) this.set({ topic, partition }, Number(records))
    },
  })
  new Gauge({
    name: 'tidemark_lag_seconds',
    help: 'Age of the first record that is not visible yet in a partition that this indexer owns; 0 when there is none',
    ...placed,
    collect() {
      this.reset()
      for (const { topic, partition, seconds } of current.lags()) this.set({ topic, partition }, seconds)
    },
  })
  new Gauge({
    name: 'tidemark_in_flight_bytes',
    help: 'Bytes of records under way, counted as they are bounded',
    registers,
    collect() {
      this.set(current.inFlightBytes())
    },
  })
  new Gauge({
    name: 'tidemark_in_flight_limit_bytes',
    help: 'The bound of tidemark_in_flight_bytes',
    registers,
  }).set(current.maxInFlightBytes)
  new Gauge({
    name: 'tidemark_clock_offset_seconds',
    help: 'How far the clock of this indexer is ahead of the clock of Redis; the slower one limits the watermark',
    registers,
    collect() {
      const offsetMs = current.clockOffsetMs()
      this.reset()
      if (offsetMs === undefined) this.remove()
      else this.set(offsetMs / 1_000)
    },
  })
  new Gauge({
    name: 'tidemark_watermark_age_seconds',
    help: 'How old the watermark was when it was asked for; absent while there is none',
    registers,
    collect() {
      const watermarkMs = current.watermarkMs()
      this.reset()
      if (watermarkMs === undefined) this.remove()
      else this.set(Math.max(0, current.nowMs() - watermarkMs) / 1_000)
    },
  })
}

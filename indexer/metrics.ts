import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { ItemOutcome } from './bulk/bulkFailure.ts'
import type { Lag } from './publisher.ts'

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
  const bulkItems = new Counter({
    name: 'tidemark_bulk_items_total',
    help: 'Documents of bulk requests, by how the response to each was classified',
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

/** The metrics of one indexer. `current` is read whenever the metrics are asked for. */
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
    help: 'Offsets from the searchable position to the end of a partition that this indexer owns',
    ...placed,
    collect() {
      this.reset()
      for (const { topic, partition, records } of current.lags()) this.set({ topic, partition }, Number(records))
    },
  })
  new Gauge({
    name: 'tidemark_lag_seconds',
    help: 'Age of the oldest record that is not searchable yet in a partition that this indexer owns; 0 if there is none',
    ...placed,
    collect() {
      this.reset()
      for (const { topic, partition, seconds } of current.lags()) this.set({ topic, partition }, seconds)
    },
  })
  new Gauge({
    name: 'tidemark_in_flight_bytes',
    help: 'Bytes of records fetched and not yet processed; the value of a record counts three times',
    registers,
    collect() {
      this.set(current.inFlightBytes())
    },
  })
  new Gauge({
    name: 'tidemark_in_flight_limit_bytes',
    help: 'Limit of tidemark_in_flight_bytes: MAX_IN_FLIGHT_BYTES',
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
    help: 'Age of the published watermark; absent until this indexer has published one',
    registers,
    collect() {
      const watermarkMs = current.watermarkMs()
      this.reset()
      if (watermarkMs === undefined) this.remove()
      else this.set(Math.max(0, current.nowMs() - watermarkMs) / 1_000)
    },
  })
}

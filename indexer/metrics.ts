import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Lag } from './publisher.ts'

/** Bulk bodies from a single small record to one larger than the bound. */
const bulkByteBuckets = [1_024, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 8_388_608, 33_554_432]

export type IndexerMetrics = ReturnType<typeof indexerMetrics>

/** What an indexer counts and measures. `current` is read whenever the metrics are asked for. */
export function indexerMetrics(
  registry: Registry,
  current: {
    inFlightBytes(): number
    tidemarkMs(): number | undefined
    troubles(): Readonly<Record<string, boolean>>
    nowMs(): number
  },
) {
  const registers = [registry]
  const lagRecords = new Gauge({
    name: 'tidemark_lag_records',
    help: 'Offsets between what is visible and the end of a partition that this indexer owns',
    labelNames: ['topic', 'partition'] as const,
    registers,
  })
  const lagSeconds = new Gauge({
    name: 'tidemark_lag_seconds',
    help: 'Age of the first record that is not visible yet in a partition that this indexer owns; 0 when there is none',
    labelNames: ['topic', 'partition'] as const,
    registers,
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
    name: 'tidemark_age_seconds',
    help: 'How old the tidemark was when it was asked for; absent while there is none',
    registers,
    collect() {
      const tidemarkMs = current.tidemarkMs()
      this.reset()
      if (tidemarkMs === undefined) this.remove()
      else this.set(Math.max(0, current.nowMs() - tidemarkMs) / 1_000)
    },
  })
  new Gauge({
    name: 'tidemark_trouble',
    help: '1 for every part of the indexer that cannot do its work just now',
    labelNames: ['part'] as const,
    registers,
    collect() {
      for (const [part, isTroubled] of Object.entries(current.troubles())) this.set({ part }, Number(isTroubled))
    },
  })
  return {
    records: new Counter({
      name: 'tidemark_records_total',
      help: 'Records by topic and what became of them',
      labelNames: ['topic', 'outcome'] as const,
      registers,
    }),
    bulkItems: new Counter({
      name: 'tidemark_bulk_items_total',
      help: 'Documents of bulk requests by how Elasticsearch answered for each',
      labelNames: ['outcome'] as const,
      registers,
    }),
    bulkSeconds: new Histogram({ name: 'tidemark_bulk_seconds', help: 'Time of a bulk request', registers }),
    bulkBytes: new Histogram({
      name: 'tidemark_bulk_bytes',
      help: 'Size of a bulk request',
      buckets: bulkByteBuckets,
      registers,
    }),
    refreshSeconds: new Histogram({ name: 'tidemark_refresh_seconds', help: 'Time of a refresh', registers }),
    deadLetters: new Counter({
      name: 'tidemark_dead_letters_total',
      help: 'Records set aside, by their topic',
      labelNames: ['topic'] as const,
      registers,
    }),
    rebalances: new Counter({
      name: 'tidemark_rebalances_total',
      help: 'Assignments of partitions to this indexer',
      registers,
    }),
    showLag: (lags: readonly Lag[]) => {
      lagRecords.reset()
      lagSeconds.reset()
      for (const { topic, partition, records, seconds } of lags) {
        lagRecords.set({ topic, partition }, Number(records))
        lagSeconds.set({ topic, partition }, seconds)
      }
    },
  }
}

import { Gauge, type Registry } from 'prom-client'
import type { Observed } from './observe.ts'

/** Metrics of the state that all indexers share: every indexer reports the same values. */
export function surveyMetrics(registry: Registry, observed: () => Observed): void {
  const registers = [registry]
  /** A gauge that is absent while its value is unknown. */
  const gauge = (name: string, help: string, value: (now: Observed) => number | undefined): void => {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        const known = value(observed())
        this.reset()
        if (known === undefined) this.remove()
        else this.set(known)
      },
    })
  }
  const perIndex = (name: string, help: string, of: 'documents' | 'bytes'): void => {
    new Gauge({
      name,
      help,
      labelNames: ['index'] as const,
      registers,
      collect() {
        this.reset()
        for (const index of observed().indices?.value ?? []) this.set({ index: index.name }, index[of])
      },
    })
  }
  perIndex('tidemark_index_documents', 'Documents of an index, tombstones included', 'documents')
  perIndex('tidemark_index_bytes', 'Disk usage of an index, replicas included', 'bytes')
  gauge('tidemark_dead_letters', 'Dead letters in the dead-letters topic', ({ group }) => group?.value.deadLetters)
  gauge('tidemark_rebuild_running', '1 while a rebuild is running, else 0', ({ group }) =>
    group === undefined ? undefined : Number(group.value.rebuild?.isRunning ?? false),
  )
  gauge(
    'tidemark_rebuild_progress_ratio',
    'Share of the records that the generation of a rebuild holds; absent without a rebuild',
    ({ group }) => group?.value.rebuild?.progress,
  )
  gauge('tidemark_redis_memory_bytes', 'Memory that Redis uses', ({ redisMemory }) => redisMemory?.value.usedBytes)
  gauge(
    'tidemark_redis_memory_limit_bytes',
    'maxmemory of Redis; absent without one',
    ({ redisMemory }) => redisMemory?.value.limitBytes,
  )
}

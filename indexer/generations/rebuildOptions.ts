import type { Client } from '@elastic/elasticsearch'
import type { Logger } from 'pino'
import type { KafkaSource } from '../../src/core/kafka/source.ts'
import type { Config } from '../../src/core/process/config.ts'
import type { RedisConnection } from '../../src/core/stores/redis.ts'

/** The result of comparing an old and a new index of one kind. */
export type Comparison = {
  /** Documents of the old index that were compared. */
  readonly documents: number
  /** Documents that were copied, because the new index had a lower version or none. */
  readonly reconciled: number
  /** Documents that have a higher version in the new index. */
  readonly newerInTarget: number
  /** Over ids and versions, without the documents that are newer in the target; equal when nothing is missing. */
  readonly checksum: { readonly old: string; readonly new: string }
}

/** How a rebuild reports to whoever started it. */
export type RebuildReport = {
  step(text: string): void
  progress(what: 'records read' | 'documents compared', done: number, total: number): void
  compared(comparisons: Readonly<Record<string, Comparison>>): void
}

export type RebuildOptions = {
  readonly config: Config
  readonly source: KafkaSource
  readonly elasticsearch: Client
  /** A client that returns response bodies as text. */
  readonly raw: Client
  readonly redis: RedisConnection
  readonly report: RebuildReport
  readonly log: Logger
  readonly signal: AbortSignal
}

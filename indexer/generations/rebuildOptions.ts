import type { Client } from '@elastic/elasticsearch'
import type { Admin, Kafka } from 'kafkajs'
import type { Logger } from 'pino'
import type { Config } from '../../src/core/process/config.ts'
import type { RedisConnection } from '../../src/core/stores/redis.ts'

/** What a comparison of two indices of one kind found. */
export type Comparison = {
  /** Documents of the old index that were looked at. */
  readonly documents: number
  /** Those of which the old index knew more: a higher version, or that they are there at all. */
  readonly carriedOver: number
  /** Those of which the new index knows more already. */
  readonly movedOn: number
  /** Over ids and versions of all but those that moved on; the same in both indices when nothing is missing. */
  readonly checksum: { readonly old: string; readonly new: string }
}

/** What whoever started the rebuild sees of it. */
export type RebuildReport = {
  step(text: string): void
  /** So many of so many records are read, or documents compared. */
  reach(what: 'records read' | 'documents compared', done: number, total: number): void
  compared(comparisons: Readonly<Record<string, Comparison>>): void
}

export type RebuildOptions = {
  readonly config: Config
  readonly kafka: Kafka
  readonly admin: Admin
  readonly elasticsearch: Client
  /** A client whose answers are raw text. */
  readonly raw: Client
  readonly redis: RedisConnection
  readonly report: RebuildReport
  readonly log: Logger
  readonly signal: AbortSignal
}

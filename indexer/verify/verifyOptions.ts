import type { Client } from '@elastic/elasticsearch'
import type { KafkaSource } from '../../src/core/kafka/source.ts'
import type { TeamId } from '../../src/core/model/ids.ts'
import type { Config } from '../../src/core/process/config.ts'
import type { RedisConnection } from '../../src/core/stores/redis.ts'

/** How a verification reports its progress to whoever started it. */
export type VerifyReport = {
  step(text: string): void
  progress(what: string, done: number, total: number): void
}

export type VerifyOptions = {
  readonly config: Config
  readonly source: KafkaSource
  readonly elasticsearch: Client
  /** A client that returns response bodies as text. */
  readonly raw: Client
  readonly redis: RedisConnection
  /** Compares only what belongs to this team. */
  readonly team: TeamId | undefined
  readonly report: VerifyReport
  readonly signal: AbortSignal
}

/** Whether the replica is in sync cannot be told: something that the comparison rests on is missing or has changed meanwhile. */
export class NotJudged extends Error {
  override readonly name = 'NotJudged'
}

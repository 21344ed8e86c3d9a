import type { Client } from '@elastic/elasticsearch'
import type { Check } from '../process/health.ts'
import { summaryOf } from '../process/log.ts'
import type { AccountKeyStore } from './accountKeyStore.ts'
import { aliasOf } from './indices.ts'
import type { KafkaSource } from './kafkaSource.ts'
import type { RedisConnection } from './redis.ts'

const doesNotAnswer = (error: unknown): string => `does not answer: ${summaryOf(error)}`

/** Whether Redis answers. */
export const redisAnswers =
  ({ client }: RedisConnection): Check =>
  () =>
    client.ping().then(() => undefined, doesNotAnswer)

/** Whether every account key is in Redis; `obstacle` says why the last replay failed. */
export const accountKeysAreComplete =
  (store: Pick<AccountKeyStore, 'isComplete'>, obstacle: () => string | undefined = () => undefined): Check =>
  () =>
    store.isComplete().then(
      (isComplete) => (isComplete ? undefined : ['is not complete', obstacle() ?? []].flat().join(': ')),
      () => 'cannot be read from Redis',
    )

/** Whether Elasticsearch answers a request about the indices of this prefix; none of them need exist. */
export const elasticsearchAnswers =
  (client: Client, prefix: string): Check =>
  (signal) =>
    client.indices.exists({ index: `${aliasOf(prefix, 'forms')}*` }, { signal }).then(() => undefined, doesNotAnswer)

/** Whether a Kafka broker answers. */
export const kafkaAnswers =
  (source: KafkaSource): Check =>
  () =>
    source.ping().then(() => undefined, doesNotAnswer)

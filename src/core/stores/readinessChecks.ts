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

/**
 * Whether a node of a cluster answers nothing once it has lost its master. By default it goes on answering reads, with what it held when it was
 * cut off. A single node has nobody to lose.
 */
export const isolatedNodesAnswerNothing =
  (client: Client): Check =>
  async (signal) => {
    const { number_of_nodes: nodes } = await client.cluster.health({ filter_path: 'number_of_nodes' }, { signal })
    if (nodes === 1) return undefined
    const query = { include_defaults: true, flat_settings: true, filter_path: `*.${noMasterBlock}` }
    const { persistent, transient, defaults } = await client.cluster.getSettings(query, { signal })
    const block: unknown = { ...defaults, ...persistent, ...transient }[noMasterBlock]
    return block === 'all'
      ? undefined
      : `${noMasterBlock} is ${block}, and must be all: an isolated node would answer reads`
  }

const noMasterBlock = 'cluster.no_master_block'

/** Whether a Kafka broker answers. */
export const kafkaAnswers =
  (source: KafkaSource): Check =>
  () =>
    source.ping().then(() => undefined, doesNotAnswer)

import { type Client, errors } from '@elastic/elasticsearch'
import { aliasOf } from '../elasticsearch/indices.ts'
import type { KafkaSource } from '../kafka/source.ts'
import { type Check, failed, passed } from '../monitoring/health.ts'
import { summaryOf } from '../monitoring/log.ts'
import type { AccountKeyStore } from '../redis/accountKeyStore.ts'
import type { RedisConnection } from '../redis/redis.ts'

const answers =
  (request: (signal: AbortSignal) => Promise<unknown>): Check =>
  (signal) =>
    request(signal).then(
      () => passed,
      (error: unknown) => failed(`does not answer: ${summaryOf(error)}`),
    )

export const redisAnswers = ({ client }: RedisConnection): Check => answers(() => client.ping())

export const kafkaAnswers = (source: KafkaSource): Check => answers(() => source.ping())

/** Answered even if no index exists. */
export const elasticsearchAnswers = (client: Client, prefix: string): Check =>
  answers((signal) => client.indices.exists({ index: `${aliasOf(prefix, 'forms')}*` }, { signal }))

/** Passes while Redis has every account key. `obstacle`: why the last attempt to copy them failed; undefined if it did not. */
export const accountKeysAreComplete =
  (store: Pick<AccountKeyStore, 'isComplete'>, obstacle: () => string | undefined = () => undefined): Check =>
  async () => {
    try {
      if (await store.isComplete()) return passed
    } catch {
      return failed('cannot be read from Redis')
    }
    const why = obstacle()
    return failed(why === undefined ? 'is not complete' : `is not complete: ${why}`)
  }

const noMasterBlock = 'cluster.no_master_block'

/**
 * Checks that nodes without a master reject searches. By default, a node that is cut off answers from old data, while the watermark rises with the writes to
 * the rest of the cluster. Passes for a single node.
 */
export const isolatedNodesAnswerNothing =
  (client: Client): Check =>
  async (signal) => {
    const options = { signal, maxRetries: client.connectionPool.size - 1 }
    const timeout = { master_timeout: '1s' } as const
    try {
      const [{ number_of_nodes: nodes = 1 }, { transient, persistent, defaults }] = await Promise.all([
        client.cluster.health(timeout, options),
        client.cluster.getSettings({ ...timeout, include_defaults: true, filter_path: `*.${noMasterBlock}` }, options),
      ])
      const cluster = { ...defaults?.['cluster'], ...persistent?.['cluster'], ...transient?.['cluster'] }
      const value: unknown = cluster.no_master_block ?? 'unknown'
      if (nodes === 1 || value === 'all') return passed
      return failed(
        `${noMasterBlock} is ${value}, but must be all in a cluster of ${nodes} nodes: a node without its master answers searches with old data`,
      )
    } catch (error) {
      if (error instanceof errors.ConnectionError || error instanceof errors.NoLivingConnectionsError) return passed
      return failed(`cannot be checked: ${summaryOf(error)}`)
    }
  }

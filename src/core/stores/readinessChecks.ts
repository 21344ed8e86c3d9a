import { type Client, errors } from '@elastic/elasticsearch'
import type { KafkaSource } from '../kafka/source.ts'
import type { Check } from '../process/health.ts'
import { summaryOf } from '../process/log.ts'
import type { AccountKeyStore } from './accountKeyStore.ts'
import { parsedBody } from './elasticsearch.ts'
import { aliasOf } from './indices.ts'
import type { RedisConnection } from './redis.ts'

/** Whether an engine answers a question. */
const answers =
  (ask: (signal: AbortSignal) => Promise<unknown>): Check =>
  (signal) =>
    ask(signal).then(
      () => undefined,
      (error: unknown) => `does not answer: ${summaryOf(error)}`,
    )

export const redisAnswers = ({ client }: RedisConnection): Check => answers(() => client.ping())

export const kafkaAnswers = (source: KafkaSource): Check => answers(() => source.ping())

/** Whether Elasticsearch answers a request about the indices of this prefix; none of them need exist. */
export const elasticsearchAnswers = (client: Client, prefix: string): Check =>
  answers((signal) => client.indices.exists({ index: `${aliasOf(prefix, 'forms')}*` }, { signal }))

/** Whether every account key is in Redis; `obstacle` says why the last replay failed. */
export const accountKeysAreComplete =
  (store: Pick<AccountKeyStore, 'isComplete'>, obstacle: () => string | undefined = () => undefined): Check =>
  () =>
    store.isComplete().then(
      (isComplete) => (isComplete ? undefined : ['is not complete', obstacle() ?? []].flat().join(': ')),
      () => 'cannot be read from Redis',
    )

const noMasterBlock = 'cluster.no_master_block'

/**
 * Whether a node that has lost its master stops answering searches. By default it goes on with what it held then, while the rest of the
 * cluster takes writes that the watermark promises. A single node has no others to lose. The client may return parsed or raw bodies.
 */
export const isolatedNodesAnswerNothing =
  (client: Client): Check =>
  async (signal) => {
    const ask = async <T>(path: string, query: Readonly<Record<string, string | boolean>> = {}): Promise<T> => {
      // Sooner than the deadline of a check, so that a node without a master says so.
      const querystring = { ...query, master_timeout: '1s' }
      return parsedBody<T>(
        await client.transport.request<Uint8Array | object>({ method: 'GET', path, querystring }, { signal }),
      )
    }
    type Group = { readonly cluster?: { readonly no_master_block?: string } }
    try {
      const [{ number_of_nodes: nodes = 1 }, { transient, persistent, defaults }] = await Promise.all([
        ask<{ number_of_nodes?: number }>('/_cluster/health'),
        ask<{ transient?: Group; persistent?: Group; defaults?: Group }>('/_cluster/settings', {
          // The file of the node is among the defaults.
          include_defaults: true,
          filter_path: `*.${noMasterBlock}`,
        }),
      ])
      const value = { ...defaults?.cluster, ...persistent?.cluster, ...transient?.cluster }.no_master_block ?? 'unknown'
      if (nodes === 1 || value === 'all') return undefined
      return `${noMasterBlock} is ${value}, but must be all in a cluster of ${nodes} nodes: a node without its master answers searches with old data`
    } catch (error) {
      // The check of Elasticsearch itself tells this.
      if (error instanceof errors.ConnectionError || error instanceof errors.NoLivingConnectionsError) return undefined
      return `cannot be checked: ${summaryOf(error)}`
    }
  }

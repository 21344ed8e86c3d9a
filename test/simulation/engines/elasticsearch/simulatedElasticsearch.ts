import { Client } from '@elastic/elasticsearch'
import type { BaseConnection } from '@elastic/transport'
import { defaultRequestTimeoutMs, RawSerializer } from '../../../../src/core/stores/elasticsearch.ts'
import type { Host, Network } from '../../network.ts'
import type { Index } from './catalog.ts'
import { Cluster } from './cluster.ts'
import { connectionTo } from './connection.ts'
import { Refusal } from './refusal.ts'
import { answerRequest } from './routes.ts'
import type { Copy, Node } from './shard.ts'

/**
 * A cluster of Elasticsearch in memory, with the faults that it can have. It knows what the product asks, and answers 400
 * `not_simulated_exception` to anything else. Each node holds one copy of every shard.
 */
export class SimulatedElasticsearch {
  readonly #host: Host
  readonly #cluster: Cluster
  #refusesWrites = false
  #failsAt: string | undefined

  constructor(host: Host, copies = 2) {
    this.#host = host
    this.#cluster = new Cluster(host, copies)
    this.#cluster.refusalOf = (id) => {
      if (id === undefined) return this.#refusesWrites ? refused(429, 'es_rejected_execution_exception') : undefined
      return id === this.#failsAt ? refused(500, 'null_pointer_exception') : undefined
    }
  }

  /** The class of connections by which a client reaches it; with `bytes`, what succeeds is answered as bytes. */
  connectionFor(network: Network, { bytes = false }: { readonly bytes?: boolean } = {}): typeof BaseConnection {
    return connectionTo(network, (request) => answerRequest(this.#cluster, request), bytes)
  }

  /** The indices that have an alias. */
  indicesOf(alias: string): readonly Index[] {
    return this.#cluster.catalog.find([alias], true)
  }

  /** A node cannot be reached any more. The master counts its copies as active until it notices, which a write makes it do. */
  loseNode(node: number): void {
    this.#node(node).isReachable = false
  }

  /** The master takes the copies of lost nodes out. */
  noticeLostNodes(): void {
    for (const shard of this.#cluster.shards()) shard.dropLost()
  }

  /**
   * A node can be reached again. Its copies go on as they are if the master has not noticed; the others are recovered one after the other,
   * and refreshed at the end of it. Copies whose primary is away are recovered when its node is back.
   */
  async returnNode(node: number): Promise<void> {
    this.#node(node).isReachable = true
    for (const shard of this.#cluster.shards())
      for (let recovering = firstOf(shard.recoverable()); recovering !== undefined; ) {
        await this.#host.pause('recovery of a copy')
        if (shard.recoverable().includes(recovering)) shard.recover(recovering)
        recovering = firstOf(shard.recoverable())
      }
  }

  /** Deletes the indices of a name, alias or pattern, as an operator might. */
  deleteIndices(pattern: string): void {
    this.#cluster.catalog.delete(this.#cluster.catalog.find([pattern]))
  }

  /** Deletes an alias from every index that has it, as an operator might. */
  deleteAlias(alias: string): void {
    const actions = this.#cluster.catalog.find([alias], true).map(({ name }) => ({ remove: { index: name, alias } }))
    this.#cluster.catalog.updateAliases(actions)
  }

  /** Refuses all bulk requests with 429, or none any more. */
  refuseWrites(areRefused: boolean): void {
    this.#refusesWrites = areRefused
  }

  /** Answers each write of the documents of this id with 500, whatever is in them. */
  failAt(id: string): void {
    this.#failsAt = id
  }

  #node(number: number): Node {
    const node = this.#cluster.nodes[number]
    if (node === undefined) throw new RangeError(`there is no node ${number}`)
    return node
  }
}

const firstOf = ([first]: readonly Copy[]): Copy | undefined => first

const refused = (status: number, type: string): Refusal =>
  new Refusal(status, { type, reason: 'as the simulation says' })

export type Clients = {
  /** Parses responses. */
  readonly elasticsearch: Client
  /** Its responses are raw bytes of JSON. */
  readonly bytes: Client
}

/** The clients of `src/core/stores/elasticsearch.ts`, connected with a simulated Elasticsearch. */
export function simulatedClients(simulated: SimulatedElasticsearch, network: Network): Clients {
  const options = {
    node: 'http://simulated',
    maxRetries: 0,
    requestTimeout: defaultRequestTimeoutMs,
    Connection: simulated.connectionFor(network),
  }
  return {
    elasticsearch: new Client(options),
    bytes: new Client({
      ...options,
      Serializer: RawSerializer,
      Connection: simulated.connectionFor(network, { bytes: true }),
    }),
  }
}

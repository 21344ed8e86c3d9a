import { Client } from '@elastic/elasticsearch'
import { defaultRequestTimeoutMs, RawSerializer } from '../../../../src/core/elasticsearch/elasticsearch.ts'
import type { Host, Network } from '../../network.ts'
import { untilWritable, writeBulk } from './bulk.ts'
import { Catalog, type Index } from './catalog.ts'
import { connectionTo } from './connection.ts'
import { refused } from './refusal.ts'
import { answerRequest } from './routes.ts'
import { isReachable, type Node, type Shard } from './shard.ts'
import { type Asked, Snapshots } from './snapshots.ts'

/** Selects shards of an index by `routing`, and copies by `preference`: those of a node, or any. */
type Routing = { readonly routing?: string | undefined; readonly preference?: string | undefined }

const uuidCharacters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
/** Number of nodes, each with one copy of every shard. */
const nodeCount = 2
/** How long a request waits for a primary that is missing, if it does not say. */
const primaryWaitMs = 60_000

/**
 * An in-memory Elasticsearch cluster with faults. It implements the requests of the product, and answers 400
 * `not_simulated_exception` to all others.
 */
export class SimulatedElasticsearch {
  readonly catalog: Catalog
  readonly snapshots: Snapshots
  /** Answers all bulk requests with 429. */
  refusesWrites = false
  /** Answers every write of a document with this id with 500. */
  failsAt: string | undefined
  readonly #host: Host
  readonly #nodes: readonly Node[]

  constructor(host: Host) {
    this.#host = host
    this.#nodes = Array.from({ length: nodeCount }, (_, at) => ({ id: `node-${at}`, isReachable: true }))
    const pick = (): string => uuidCharacters[Math.floor(host.random() * uuidCharacters.length)] ?? ''
    this.catalog = new Catalog(
      this.#nodes,
      () => Array.from({ length: 22 }, pick).join(''),
      () => host.nowMs(),
    )
    this.snapshots = new Snapshots(host, this.catalog)
  }

  /** The indices behind an alias. */
  indicesOf(alias: string): readonly Index[] {
    return this.catalog.find([alias], true)
  }

  /** Makes a node unreachable. Its copies count as active until the master notices, at the latest at the next write. */
  loseNode(node: number): void {
    this.#node(node).isReachable = false
  }

  /** Makes the master drop the copies of unreachable nodes. */
  noticeLostNodes(): void {
    for (const shard of this.#shards()) shard.dropLost()
  }

  /**
   * Makes a node reachable again. Copies that the master has not dropped go on unchanged; the others are recovered one by one and
   * refreshed, but not before the node of their primary is back.
   */
  async returnNode(node: number): Promise<void> {
    this.#node(node).isReachable = true
    for (const shard of this.#shards())
      for (let [copy] = shard.recoverable(); copy !== undefined; [copy] = shard.recoverable()) {
        await this.#host.pause('recovery of a copy')
        if (shard.recoverable().includes(copy)) shard.recover(copy)
      }
  }

  /** Deletes the indices behind a name, alias or pattern, as an operator might. */
  deleteIndices(pattern: string): void {
    this.catalog.delete(this.catalog.find([pattern]))
  }

  /** Deletes an alias from every index that has it, as an operator might. */
  deleteAlias(alias: string): void {
    const actions = this.indicesOf(alias).map(({ name }) => ({ remove: { index: name, alias } }))
    this.catalog.updateAliases(actions)
  }

  /** The copies that answer a search. */
  copiesOf(indices: readonly Index[], { routing, preference }: Routing): readonly Asked[] {
    const [, only] = /^_shards:(\d+)$/.exec(preference ?? '') ?? []
    return indices.flatMap((index) => {
      const shards = routing === undefined ? index.shards : [index.shardOf(routing)]
      const selected = only === undefined ? shards : shards.filter(({ number }) => number === Number(only))
      return selected.map((shard) => ({ index, shard: shard.number, copy: shard.copyAt(this.placeOf(preference)) }))
    })
  }

  /**
   * The node, or else the index of the copy, that a `preference` selects. The latter is random: nodes disagree about the copy for a
   * custom preference, and clients rotate between nodes.
   */
  placeOf(preference: string | undefined): number | string {
    const [, only] = /^_only_nodes:(.+)$/.exec(preference ?? '') ?? []
    return only ?? Math.floor(this.#host.random() * 2 ** 31)
  }

  /** Answers `_search_shards`: the copies of the shards that a routing selects. */
  searchShards(indices: readonly Index[], routing: string | undefined): object {
    const shards = indices.flatMap((index) =>
      (routing === undefined ? index.shards : [index.shardOf(routing)]).map((shard) => ({ index, shard })),
    )
    return {
      shards: shards.map(({ index, shard }) =>
        shard.copies
          .filter(({ isActive }) => isActive)
          .map((copy) => ({
            state: 'STARTED',
            primary: copy === shard.primary,
            node: copy.node.id,
            shard: shard.number,
            index: index.name,
            allocation_id: { id: `${index.uuid}-${shard.number}-${copy.node.id}-${copy.recoveries}` },
          })),
      ),
    }
  }

  /** Refreshes one copy after the other; waits a minute for primaries that are missing. An unreachable copy counts neither as successful nor as failed. */
  async refresh(indices: readonly Index[]): Promise<{ total: number; successful: number; failed: number }> {
    const counts = { total: 0, successful: 0, failed: 0 }
    const missing: Shard[] = []
    for (const shard of indices.flatMap(({ shards }) => shards)) {
      counts.total += shard.copies.length
      if (isReachable(shard.primary)) counts.successful += await this.#refreshCopies(shard, counts.successful > 0)
      else missing.push(shard)
    }
    const patience = { leftMs: primaryWaitMs }
    for (const shard of missing) {
      await untilWritable(shard, patience, this.#host)
      if (isReachable(shard.primary)) counts.successful += await this.#refreshCopies(shard, true)
    }
    return counts
  }

  /** Returns how many copies were refreshed: the primary forwards a refresh to its replicas. */
  async #refreshCopies(shard: Shard, pausesFirst: boolean): Promise<number> {
    let refreshed = 0
    for (const copy of [shard.primary, ...shard.copies.filter((replica) => replica !== shard.primary)]) {
      if (pausesFirst || refreshed > 0) await this.#host.pause('refresh of a copy')
      if (!isReachable(copy)) continue
      shard.refresh(copy)
      refreshed++
    }
    return refreshed
  }

  /** Writes the documents of a bulk request in their order; waits so long for primaries that are missing. */
  async write(text: string, waitMs = primaryWaitMs): Promise<object> {
    if (this.refusesWrites) throw refused(429, 'es_rejected_execution_exception')
    return await writeBulk(text, this.catalog, this.#host, { failsAt: this.failsAt, waitMs })
  }

  /** The health of indices as the master knows it. */
  health(indices: readonly Index[]): object {
    const shards = indices.flatMap(({ shards }) => shards)
    const copies = shards.flatMap((shard) => shard.copies)
    const active = copies.filter(({ isActive }) => isActive).length
    const hasAllPrimaries = shards.every(({ primary }) => primary.isActive)
    const status = !hasAllPrimaries ? 'red' : active < copies.length ? 'yellow' : 'green'
    const unassigned_shards = copies.length - active
    return { status, timed_out: false, number_of_nodes: this.#nodes.length, active_shards: active, unassigned_shards }
  }

  #shards(): readonly Shard[] {
    return this.catalog.all().flatMap(({ shards }) => shards)
  }

  #node(number: number): Node {
    const node = this.#nodes[number]
    if (node === undefined) throw new RangeError(`there is no node ${number}`)
    return node
  }
}

export type Clients = { readonly elasticsearch: Client }

/** The client of `src/core/elasticsearch/elasticsearch.ts`, connected to a simulated Elasticsearch. */
export function simulatedClients(simulated: SimulatedElasticsearch, network: Network): Clients {
  const Connection = connectionTo(network, (request) => answerRequest(simulated, request))
  const options = { node: 'http://simulated', maxRetries: 0, requestTimeout: defaultRequestTimeoutMs }
  return { elasticsearch: new Client({ ...options, Serializer: RawSerializer, Connection }) }
}

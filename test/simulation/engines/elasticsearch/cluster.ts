import type { Host } from '../../network.ts'
import { writeBulk } from './bulk.ts'
import { Catalog, type Index } from './catalog.ts'
import type { Refusal } from './refusal.ts'
import { isReachable, type Node, type Shard } from './shard.ts'
import { type Asked, Snapshots } from './snapshots.ts'

/** Which shards of an index a request asks, and which copy of each: the one on a node, or any. */
type Routing = { readonly routing?: string | undefined; readonly preference?: string | undefined }

const uuidCharacters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** Nodes with indices. Each node holds one copy of every shard. */
export class Cluster {
  readonly catalog: Catalog
  readonly snapshots: Snapshots
  readonly nodes: readonly Node[]
  /** Called for each bulk request, and for each of its documents with its id: what refuses it, if anything. */
  refusalOf: (id: string | undefined) => Refusal | undefined = () => undefined
  readonly #host: Host

  constructor(host: Host, copies: number) {
    this.#host = host
    this.nodes = Array.from({ length: copies }, (_, at) => ({ id: `node-${at}`, isReachable: true }))
    const pick = (): string => uuidCharacters[Math.floor(host.random() * uuidCharacters.length)] ?? ''
    this.catalog = new Catalog(
      this.nodes,
      () => Array.from({ length: 22 }, pick).join(''),
      () => host.nowMs(),
    )
    this.snapshots = new Snapshots(host, this.catalog)
  }

  /** The copies that answer a search. */
  copiesOf(indices: readonly Index[], { routing, preference }: Routing): readonly Asked[] {
    const [, only] = /^_shards:(\d+)$/.exec(preference ?? '') ?? []
    return indices.flatMap((index) => {
      const shards = routing === undefined ? index.shards : [index.shardOf(routing)]
      const asked = only === undefined ? shards : shards.filter(({ number }) => number === Number(only))
      return asked.map((shard) => ({ index, shard: shard.number, copy: shard.copyAt(this.placeOf(preference)) }))
    })
  }

  /**
   * The node whose copy a shard is asked of, or where among its copies. Nodes of a cluster do not agree on which copy the name of a
   * preference means, and a client asks now one and now another.
   */
  placeOf(preference: string | undefined): number | string {
    const [, only] = /^_only_nodes:(.+)$/.exec(preference ?? '') ?? []
    return only ?? Math.floor(this.#host.random() * 2 ** 31)
  }

  /** The copies of the shards that a routing leads to. */
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

  /** Makes what is stored searchable on one copy after the other. A copy that is away counts neither as successful nor as failed. */
  async refresh(indices: readonly Index[]): Promise<{ total: number; successful: number; failed: number }> {
    const counts = { total: 0, successful: 0, failed: 0 }
    for (const shard of indices.flatMap(({ shards }) => shards)) {
      counts.total += shard.copies.length
      // The primary passes the request on to the others.
      if (!isReachable(shard.primary)) continue
      for (const copy of [shard.primary, ...shard.copies.filter((each) => each !== shard.primary)]) {
        if (counts.successful > 0) await this.#host.pause('refresh of a copy')
        if (!isReachable(copy)) continue
        shard.refresh(copy)
        counts.successful++
      }
    }
    return counts
  }

  /** Writes the documents of a bulk request in their order. */
  async write(text: string): Promise<object> {
    const refused = this.refusalOf(undefined)
    if (refused !== undefined) throw refused
    return await writeBulk(text, { catalog: this.catalog, host: this.#host, refusalOf: (id) => this.refusalOf(id) })
  }

  /** The health of indices as the master knows it. */
  health(indices: readonly Index[]): object {
    const shards = indices.flatMap(({ shards }) => shards)
    const copies = shards.flatMap((shard) => shard.copies)
    const active = copies.filter(({ isActive }) => isActive).length
    const hasAllPrimaries = shards.every(({ primary }) => primary.isActive)
    const status = !hasAllPrimaries ? 'red' : active < copies.length ? 'yellow' : 'green'
    const unassigned_shards = copies.length - active
    return { status, timed_out: false, number_of_nodes: this.nodes.length, active_shards: active, unassigned_shards }
  }

  shards(): readonly Shard[] {
    return this.catalog.all().flatMap(({ shards }) => shards)
  }
}

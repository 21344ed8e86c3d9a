import type { Host } from '../../network.ts'
import { writeBulk } from './bulk.ts'
import { Catalog, hashOf, type Index } from './catalog.ts'
import type { Refusal } from './refusal.ts'
import { isReachable, type Node, type Shard } from './shard.ts'
import { type Asked, Snapshots } from './snapshots.ts'

/** Which shards of an index a request asks, and which copy of each: always the same one for the same preference. */
export type Routing = { readonly routing?: string | undefined; readonly preference?: string | undefined }

const uuidCharacters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** Nodes with indices. Each node holds one copy of every shard. */
export class Cluster {
  readonly catalog: Catalog
  readonly snapshots: Snapshots
  readonly nodes: readonly Node[]
  /** Called for each bulk request, and for each of its documents: what refuses it, if anything. */
  refusalOf: (what: 'request' | 'document') => Refusal | undefined = () => undefined
  readonly #host: Host

  constructor(host: Host, copies: number) {
    this.#host = host
    this.nodes = Array.from({ length: copies }, () => ({ isReachable: true }))
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

  /** Where among its copies a shard is asked. */
  placeOf(preference: string | undefined): number {
    const isName = preference !== undefined && !preference.startsWith('_')
    return isName ? hashOf(preference) : Math.floor(this.#host.random() * 2 ** 31)
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
    const refused = this.refusalOf('request')
    if (refused !== undefined) throw refused
    const refusal = (): Refusal | undefined => this.refusalOf('document')
    return await writeBulk(text, { catalog: this.catalog, host: this.#host, refusal })
  }

  /** Lets other requests come between two parts of one. */
  async pause(what: string): Promise<void> {
    await this.#host.pause(what)
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

import type { Host } from '../../network.ts'
import type { Catalog, Index } from './catalog.ts'
import { type Cause, noShardAvailable, Refusal } from './refusal.ts'
import type { Target } from './search.ts'
import { type Copy, isReachable } from './shard.ts'

/** The copy that a search uses; undefined when none is reachable. */
export type Asked = { readonly index: Index; readonly shard: number; readonly copy: Copy | undefined }

type Context = { readonly target: Target; readonly copy: Copy | undefined; readonly recoveries: number | undefined }
type Snapshot = { readonly contexts: readonly Context[]; close(): void }

/** Open points in time: the views of copies when opened. They expire `keep_alive` after their last search. */
export class Snapshots {
  readonly #host: Host
  readonly #catalog: Catalog
  readonly #open = new Map<string, Snapshot>()
  #opened = 0

  constructor(host: Host, catalog: Catalog) {
    this.#host = host
    this.#catalog = catalog
  }

  open(copies: readonly Asked[], keepAliveMs: number): string {
    this.#opened++
    const id = `snapshot-${this.#opened}`
    this.#keep(
      id,
      copies.map((copy) => ({ target: targetOf(copy), copy: copy.copy, recoveries: copy.copy?.recoveries })),
      keepAliveMs,
    )
    return id
  }

  /** The targets of a search in a snapshot, whose `keep_alive` it renews. Where a node has left, only a search for all results is told so. */
  targets(id: string, keepAliveMs: number, allowsPartial: boolean): readonly Target[] | undefined {
    const snapshot = this.#open.get(id)
    if (snapshot === undefined) return undefined
    snapshot.close()
    this.#keep(id, snapshot.contexts, keepAliveMs)
    if (!allowsPartial && snapshot.contexts.some(hasLeft)) throw new Refusal(404, nodesMissing)
    return snapshot.contexts.map(({ target, copy, recoveries }) => {
      if (!this.#catalog.has(target.index) || hasLeft({ copy })) return failing(target, noShardAvailable, 503)
      if (copy?.isActive === false || copy?.recoveries !== recoveries) return failing(target, contextMissing, 404)
      return copy !== undefined && isReachable(copy) ? target : failing(target, noShardAvailable, 503)
    })
  }

  close(id: string): boolean {
    this.#open.get(id)?.close()
    return this.#open.delete(id)
  }

  /** The number of open snapshots of an index. */
  countOf(index: Index): number {
    return [...this.#open.values()].flatMap(({ contexts }) => contexts).filter(({ target }) => target.index === index)
      .length
  }

  #keep(id: string, contexts: readonly Context[], keepAliveMs: number): void {
    const close = this.#host.after(keepAliveMs, 'end of a point in time', () => this.#open.delete(id))
    this.#open.set(id, { contexts, close })
  }
}

/** The target for a copy: its present view. */
export const targetOf = ({ index, shard, copy }: Asked): Target =>
  copy === undefined ? { index, shard, failure: noShardAvailable, status: 503 } : { index, shard, view: copy.view }

const failing = ({ index, shard }: Target, failure: Cause, status: number): Target => ({
  index,
  shard,
  failure,
  status,
})

/** Whether the master has dropped the node of a context. */
const hasLeft = ({ copy }: Pick<Context, 'copy'>): boolean => copy?.isActive === false && !copy.node.isReachable

const nodesMissing: Cause = {
  type: 'search_context_missing_nodes_exception',
  reason: 'Search context of type [pit] references nodes that have left the cluster: [node]',
}

export const contextMissing: Cause = {
  type: 'search_context_missing_exception',
  reason: 'No search context found for this id',
}

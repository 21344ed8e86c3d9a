import type { Fields } from './mapping.ts'
import { Refusal } from './refusal.ts'

export type StoredDocument = {
  readonly id: string
  readonly routing: string
  readonly version: number
  readonly seqNo: number
  /** JSON text as written. */
  readonly source: string
  readonly fields: Fields
}

/** A document in a view; `place` is its `_shard_doc`. */
export type Entry = { readonly document: StoredDocument; readonly place: number }

export type VersionType = 'external' | 'external_gte'

/** The searchable documents of a copy: those stored at its last refresh. */
export class View {
  readonly byId: ReadonlyMap<string, StoredDocument>
  #entries: readonly Entry[] | undefined
  #rows: readonly Entry[] | undefined

  constructor(documents: Iterable<StoredDocument>) {
    this.byId = new Map(Array.from(documents, (document) => [document.id, document]))
  }

  /** All documents, ordered by place. */
  get entries(): readonly Entry[] {
    this.#entries ??= Array.from(this.byId.values(), (document, place) => ({ document, place }))
    return this.#entries
  }

  /** All documents in the order of the index sort. */
  get rows(): readonly Entry[] {
    this.#rows ??= this.entries.toSorted(newestFirst)
    return this.#rows
  }
}

/** Compares by team, then descending by position; a document without them comes last. */
export const newestFirst = (a: Entry, b: Entry): number =>
  compare(a.document.fields['teamId'] ?? last, b.document.fields['teamId'] ?? last) ||
  compare(b.document.fields['position'] ?? '', a.document.fields['position'] ?? '') ||
  a.place - b.place

const last = '\u{10ffff}'
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** A node, with one copy of every shard. */
export type Node = { readonly id: string; isReachable: boolean }

/** `isActive`: in the cluster state, which may not show yet that the node is unreachable. */
export type Copy = { readonly node: Node; isActive: boolean; view: View; recoveries: number }

/**
 * A shard. Every active copy stores every acknowledged document, and finds what was stored at its own last refresh. A copy that misses a
 * write is inactive until it has recovered.
 */
export class Shard {
  readonly number: number
  readonly copies: readonly Copy[]
  /** The primary; while no copy is active, the last one. */
  primary: Copy
  readonly #documents = new Map<string, StoredDocument>()
  #lastSeqNo = -1
  /** A view of everything stored; undefined after a write. */
  #newest: View | undefined = new View([])

  constructor(number: number, nodes: readonly Node[]) {
    this.number = number
    const view = new View([])
    this.copies = nodes.map((node) => ({ node, isActive: node.isReachable, view, recoveries: 0 }))
    const [first] = this.copies
    if (first === undefined) throw new Error('a shard needs a copy')
    this.primary = this.copies.find(({ isActive }) => isActive) ?? first
  }

  get lastSeqNo(): number {
    return this.#lastSeqNo
  }

  /** A stored document, refreshed or not. */
  stored(id: string): StoredDocument | undefined {
    return this.#documents.get(id)
  }

  /** Stores a document; returns 201 for a new one, else 200. Throws unless its version is new. */
  write({ version, ...document }: Omit<StoredDocument, 'seqNo'>, versionType: VersionType): 200 | 201 {
    const known = this.#documents.get(document.id)
    if (known !== undefined && versionType === 'external' && known.version >= version)
      throw versionConflict(document.id, known.version, 'higher or equal to', version)
    if (known !== undefined && known.version > version)
      throw versionConflict(document.id, known.version, 'higher than', version)
    this.#lastSeqNo++
    this.#documents.set(document.id, { ...document, version, seqNo: this.#lastSeqNo })
    this.#newest = undefined
    return known === undefined ? 201 : 200
  }

  /** Makes everything stored searchable on one copy. */
  refresh(copy: Copy): void {
    this.#newest ??= new View(this.#documents.values())
    copy.view = this.#newest
  }

  /** Drops unreachable copies, and promotes another one if the primary is among them. */
  dropLost(): void {
    for (const copy of this.copies) if (!copy.node.isReachable) copy.isActive = false
    if (!this.primary.isActive) this.primary = this.copies.find(({ isActive }) => isActive) ?? this.primary
  }

  /** Inactive copies that can recover now: the last primary from its disk, the others from the primary. */
  recoverable(): readonly Copy[] {
    return this.copies.filter(
      (copy) => !copy.isActive && copy.node.isReachable && (copy === this.primary || isReachable(this.primary)),
    )
  }

  /** Ends the recovery of a copy, with a refresh. */
  recover(copy: Copy): void {
    this.refresh(copy)
    copy.isActive = true
    copy.recoveries++
  }

  /** The copy for a search: that of a node, reachable or not; or, for a number, that one of the active copies, or the next reachable one. */
  copyAt(place: number | string): Copy | undefined {
    const active = this.copies.filter(({ isActive }) => isActive)
    if (typeof place === 'string') {
      const only = active.find(({ node }) => node.id === place)
      if (only === undefined) throw noCopyOn(place, this.number)
      return isReachable(only) ? only : undefined
    }
    const start = active.length === 0 ? 0 : place % active.length
    return [...active.slice(start), ...active.slice(0, start)].find(isReachable)
  }
}

export const isReachable = ({ isActive, node }: Copy): boolean => isActive && node.isReachable

const noCopyOn = (node: string, shard: number): Refusal =>
  new Refusal(400, {
    type: 'illegal_argument_exception',
    reason: `no data nodes with criteria [${node}] found for shard: [${shard}]`,
  })

const versionConflict = (id: string, current: number, relation: string, provided: number): Refusal =>
  new Refusal(409, {
    type: 'version_conflict_engine_exception',
    reason: `[${id}]: version conflict, current version [${current}] is ${relation} the one provided [${provided}]`,
  })

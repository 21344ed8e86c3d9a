import type { Fields } from './mapping.ts'
import { Refusal } from './refusal.ts'

export type StoredDocument = {
  readonly id: string
  readonly routing: string
  readonly version: number
  readonly seqNo: number
  /** The text as it was written. */
  readonly source: string
  readonly fields: Fields
}

/** A document in a view; `place` is its `_shard_doc`. */
export type Entry = { readonly document: StoredDocument; readonly place: number }

export type VersionType = 'external' | 'external_gte'

/** What a copy finds: everything that was stored at its last refresh. */
export class View {
  readonly byId: ReadonlyMap<string, StoredDocument>
  #entries: readonly Entry[] | undefined
  #rows: readonly Entry[] | undefined

  constructor(documents: Iterable<StoredDocument>) {
    this.byId = new Map(Array.from(documents, (each) => [each.id, each]))
  }

  /** All documents by place. */
  get entries(): readonly Entry[] {
    this.#entries ??= Array.from(this.byId.values(), (document, place) => ({ document, place }))
    return this.#entries
  }

  /** All documents as the indices sort them. */
  get rows(): readonly Entry[] {
    this.#rows ??= this.entries.toSorted(newestFirst)
    return this.#rows
  }
}

/** By team, then descending by position; a document without either comes last. */
export const newestFirst = (a: Entry, b: Entry): number =>
  compare(a.document.fields['teamId'] ?? last, b.document.fields['teamId'] ?? last) ||
  compare(b.document.fields['position'] ?? '', a.document.fields['position'] ?? '') ||
  a.place - b.place

const last = '\u{10ffff}'
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** A machine that holds one copy of every shard. */
export type Node = { readonly id: string; isReachable: boolean }

/** `isActive`: what the master says, which may not know yet that the node is away. */
export type Copy = { readonly node: Node; isActive: boolean; view: View; recoveries: number }

/**
 * The documents of some teams. Every active copy holds every document that was acknowledged; each finds only what was stored at its own
 * last refresh. A copy that missed a write is none any more until it has recovered.
 */
export class Shard {
  readonly number: number
  readonly copies: readonly Copy[]
  /** The copy that writes go to. While no copy is active, the one that was the last. */
  primary: Copy
  readonly #documents = new Map<string, StoredDocument>()
  #lastSeqNo = -1
  /** Everything that is stored; undefined since the last write. */
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

  /** A document as it is stored, refreshed or not. */
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

  /** Makes everything that is stored searchable on one copy. */
  refresh(copy: Copy): void {
    this.#newest ??= new View(this.#documents.values())
    copy.view = this.#newest
  }

  /** The master takes lost copies out, and makes another copy the primary if it must. */
  dropLost(): void {
    for (const copy of this.copies) if (!copy.node.isReachable) copy.isActive = false
    if (!this.primary.isActive) this.primary = this.copies.find(({ isActive }) => isActive) ?? this.primary
  }

  /** Copies whose nodes are back, and that can be recovered now: the last one from its disk, the others from the primary. */
  recoverable(): readonly Copy[] {
    return this.copies.filter(
      (copy) => !copy.isActive && copy.node.isReachable && (copy === this.primary || isReachable(this.primary)),
    )
  }

  /** Ends the recovery of a copy, which a refresh does. */
  recover(copy: Copy): void {
    this.refresh(copy)
    copy.isActive = true
    copy.recoveries++
  }

  /**
   * The copy that answers a search: the only one on a node, reachable or not; else the one at this place among the active ones, or the
   * next that is reachable.
   */
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

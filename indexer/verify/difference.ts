import type { TeamId } from '../../src/core/model/ids.ts'
import type { DocumentKind } from '../../src/core/stores/indices.ts'

/** Every kind of difference, the most serious ones first. */
export const differenceKinds = [
  /** Redis accepts a key that the topics do not hold, or hold as revoked or deleted. */
  'key-accepted',
  /** A deleted key is not remembered as deleted: a late record could bring it back. */
  'key-deletion',
  /** Several live keys claim one digest, which therefore opens none of them. */
  'key-contested',
  'key-missing',
  'key-differs',
  /** The index has a live document without any record. */
  'unexpected',
  'unexpected-detail',
  'missing',
  'missing-detail',
  'older',
  'older-detail',
  /** The index has a version above every record: compaction has removed the record, or nobody ever wrote it. */
  'newer',
  'newer-detail',
  'content',
  'content-detail',
  /** `changedAt` is before the time at which the record was appended. */
  'time',
  'time-detail',
] as const
/** What is usually right: named, and no reason to say that replica and topics differ. */
const notes: ReadonlySet<string> = new Set<DifferenceKind>(['newer', 'newer-detail'])
export type DifferenceKind = (typeof differenceKinds)[number]

export type Difference = {
  readonly kind: DifferenceKind
  readonly team: TeamId
  readonly id: string
  readonly where: DocumentKind | 'account-keys'
  readonly detail: string
}

export const renderDifference = ({ kind, team, id, where, detail }: Difference): string =>
  `${kind} ${team} ${id} (${where}) ${detail}`

/** Counts differences of every kind, and keeps the first ones of each by name. */
export class Differences {
  readonly #maxNamed: number
  readonly #counts = new Map<DifferenceKind, number>()
  readonly #named = new Map<DifferenceKind, Difference[]>()

  /** `maxNamed`: how many of each kind are kept. */
  constructor(maxNamed: number) {
    this.#maxNamed = maxNamed
  }

  add(difference: Difference): void {
    const { kind } = difference
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1)
    const named = this.#named.get(kind) ?? []
    if (named.length < this.#maxNamed) named.push(difference)
    this.#named.set(kind, named)
  }

  /** How many differences there are, without what is only noted. */
  get total(): number {
    return [...this.#counts].reduce((sum, [kind, count]) => sum + (notes.has(kind) ? 0 : count), 0)
  }

  /** One line for each difference that was kept, and one for the rest of each kind. */
  lines(): string[] {
    return differenceKinds.flatMap((kind) => {
      const named = this.#named.get(kind) ?? []
      const rest = (this.#counts.get(kind) ?? 0) - named.length
      return [...named.map(renderDifference), ...(rest > 0 ? [`${kind}: ${rest} more`] : [])]
    })
  }

  /** `3 missing, 1 content`; empty when there is none. */
  summary(): string {
    return this.#count((kind) => !notes.has(kind))
  }

  /** The same of what is only noted. */
  noted(): string {
    return this.#count((kind) => notes.has(kind))
  }

  #count(isWanted: (kind: DifferenceKind) => boolean): string {
    return differenceKinds
      .filter((kind) => isWanted(kind) && this.#counts.has(kind))
      .map((kind) => `${this.#counts.get(kind)} ${kind}`)
      .join(', ')
  }
}

import type { TeamId } from '../../src/core/model/ids.ts'
import { type DocumentKind, isList } from '../../src/core/stores/indices.ts'
import type { Suspect } from './comparison.ts'

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
export type DifferenceKind = (typeof differenceKinds)[number]
/** What is usually right: named, and no reason to say that replica and topics differ. */
const notes: ReadonlySet<DifferenceKind> = new Set(['newer', 'newer-detail'])

export type Difference = {
  readonly kind: DifferenceKind
  readonly team: TeamId
  readonly id: string
  readonly where: DocumentKind | 'account-keys'
  readonly detail: string
}

/** Counts differences of every kind, and keeps the first ones of each by name. */
export class Differences {
  readonly #maxNamed: number
  readonly #found = new Map<DifferenceKind, { count: number; readonly lines: string[] }>()

  /** `maxNamed`: how many of each kind are kept. */
  constructor(maxNamed: number) {
    this.#maxNamed = maxNamed
  }

  add({ kind, team, id, where, detail }: Difference): void {
    const found = this.#found.get(kind) ?? { count: 0, lines: [] }
    this.#found.set(kind, found)
    if (found.count < this.#maxNamed) found.lines.push(`${kind} ${team} ${id} (${where}) ${detail}`)
    found.count++
  }

  /** Adds what is wrong with a document. */
  addDocument({ kind, id, problem, detail }: Suspect): void {
    const slash = id.indexOf('/')
    this.add({
      kind: isList(kind) ? problem : `${problem}-detail`,
      ...{ team: id.slice(0, slash) as TeamId, id: id.slice(slash + 1), where: kind, detail },
    })
  }

  /** Whether there is none, apart from what is only noted. */
  get isEmpty(): boolean {
    return [...this.#found.keys()].every((kind) => notes.has(kind))
  }

  /** One line for each difference that was kept, and one for the rest of each kind. */
  lines(): string[] {
    return this.#inOrder().flatMap(({ kind, count, lines }) =>
      count > lines.length ? [...lines, `${kind}: ${count - lines.length} more`] : lines,
    )
  }

  /** `4 differences (3 missing, 1 content)`, or `equal`. */
  summary(): string {
    const found = this.#inOrder().filter(({ kind }) => !notes.has(kind))
    const total = found.reduce((sum, { count }) => sum + count, 0)
    return total === 0 ? 'equal' : `${total} differences (${countsOf(found)})`
  }

  /** `2 newer`; empty when nothing is noted. */
  noted(): string {
    return countsOf(this.#inOrder().filter(({ kind }) => notes.has(kind)))
  }

  #inOrder() {
    return differenceKinds.flatMap((kind) => {
      const found = this.#found.get(kind)
      return found === undefined ? [] : [{ kind, ...found }]
    })
  }
}

const countsOf = (found: readonly { readonly kind: DifferenceKind; readonly count: number }[]): string =>
  found.map(({ kind, count }) => `${count} ${kind}`).join(', ')

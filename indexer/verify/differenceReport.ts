import type { DocumentKind } from '../../src/core/elasticsearch/indices.ts'
import type { DocumentId } from '../../src/core/model/ids.ts'

/** The most differences of each kind that are listed one by one. */
const maxNamed = 1_000

const accountKeyDifferences = ['key-accepted', 'key-deletion', 'key-contested', 'key-missing', 'key-differs'] as const
const documentDifferences = ['unexpected', 'missing', 'older', 'newer', 'content', 'time'] as const
export type Mismatch = (typeof documentDifferences)[number]
export type DifferenceKind =
  | (typeof accountKeyDifferences)[number]
  | Mismatch
  | `${Mismatch}-detail`
  /** A detail document without its list document. Only shares report it, since they read detail documents by list documents. */
  | 'unlisted-detail'

/** The most serious kinds first. `docs/runbook.md` explains them. */
const kinds: readonly DifferenceKind[] = [
  ...accountKeyDifferences,
  ...documentDifferences.flatMap((mismatch) => [mismatch, `${mismatch}-detail`] as const),
  'unlisted-detail',
]
/** Kinds that are listed but do not count as differences: in these cases the index is usually right. */
const notes: ReadonlySet<DifferenceKind> = new Set(['newer', 'newer-detail'])

export type Difference = {
  readonly kind: DifferenceKind
  readonly id: DocumentId
  readonly where: DocumentKind | 'account-keys'
  readonly detail: string
}

type OfKind = { count: number; readonly named: Difference[] }

type ReportedDifference = Omit<Difference, 'id'> & { readonly key: DocumentId }

export type ReportedDifferences = {
  readonly isEqual: boolean
  /** A line for each listed difference, and, for a kind with more of them, a line with the number of the others. */
  readonly lines: readonly string[]
  readonly counts: Readonly<Record<string, number>>
  readonly differences: readonly ReportedDifference[]
  /** `4 differences (3 missing, 1 content)`, or `equal`. */
  readonly summary: string
  /** `2 newer`, or empty. */
  readonly noted: string
}

export class DifferenceReport {
  readonly #byKind = new Map<DifferenceKind, OfKind>()

  add(difference: Difference): void {
    const ofKind = this.#byKind.get(difference.kind) ?? { count: 0, named: [] }
    this.#byKind.set(difference.kind, ofKind)
    if (ofKind.count < maxNamed) ofKind.named.push(difference)
    ofKind.count++
  }

  report(): ReportedDifferences {
    const found = kinds.flatMap((kind) => {
      const ofKind = this.#byKind.get(kind)
      return ofKind === undefined ? [] : [{ kind, ...ofKind }]
    })
    const counted = found.filter(({ kind }) => !notes.has(kind))
    const list = (some: typeof found): string => some.map(({ kind, count }) => `${count} ${kind}`).join(', ')
    const total = counted.reduce((sum, { count }) => sum + count, 0)
    return {
      isEqual: total === 0,
      lines: found.flatMap(({ kind, count, named }) => [
        ...named.map(({ id, where, detail }) => `${kind} ${id.replace('/', ' ')} (${where}) ${detail}`),
        ...(count > named.length ? [`${kind}: ${count - named.length} more`] : []),
      ]),
      counts: Object.fromEntries(found.map(({ kind, count }) => [kind, count])),
      differences: found.flatMap(({ named }) => named.map(({ id, ...rest }) => ({ ...rest, key: id }))),
      summary: total === 0 ? 'equal' : `${total} differences (${list(counted)})`,
      noted: list(found.filter(({ kind }) => notes.has(kind))),
    }
  }
}

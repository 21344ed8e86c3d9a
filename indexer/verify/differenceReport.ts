import type { DocumentKind } from '../../src/core/elasticsearch/indices.ts'
import type { DocumentId } from '../../src/core/model/ids.ts'

/** Others are only counted. */
const maxListedPerKind = 1_000

const accountKeyDifferences = ['key-accepted', 'key-deletion', 'key-contested', 'key-missing', 'key-differs'] as const
/** `older`: the document has a lower revision than the topic. `time`: its `changedAt` is before the append of its record. */
const documentDifferences = ['unexpected', 'missing', 'older', 'newer', 'content', 'time'] as const
export type Mismatch = (typeof documentDifferences)[number]
export type DifferenceKind =
  | (typeof accountKeyDifferences)[number]
  | Mismatch
  | `${Mismatch}-detail`
  /** Only shares report it: they read detail documents by list documents. */
  | 'unlisted-detail'

/** The most serious kinds first (`docs/runbook.md`). */
const kinds: readonly DifferenceKind[] = [
  ...accountKeyDifferences,
  ...documentDifferences.flatMap((mismatch) => [mismatch, `${mismatch}-detail`] as const),
  'unlisted-detail',
]
/** Not counted as differences: the index is usually right. */
const notedKinds: ReadonlySet<DifferenceKind> = new Set(['newer', 'newer-detail'])

/** `detail`: how it differs, in words. */
export type Difference = {
  readonly kind: DifferenceKind
  readonly id: DocumentId
  readonly where: DocumentKind | 'account-keys'
  readonly detail: string
}

type Group = { count: number; readonly listed: Difference[] }

/** For `--json`. `key`: the record's key. */
type ReportedDifference = Omit<Difference, 'id'> & { readonly key: DocumentId }

export type ReportedDifferences = {
  readonly isEqual: boolean
  /** A line for each listed difference; for a kind with more, a line with their number. */
  readonly lines: readonly string[]
  readonly counts: Readonly<Record<string, number>>
  readonly differences: readonly ReportedDifference[]
  /** `4 differences (3 missing, 1 content)`, or `equal`. */
  readonly summary: string
  /** `2 newer`, or empty. */
  readonly noted: string
}

export class DifferenceReport {
  readonly #byKind = new Map<DifferenceKind, Group>()

  add(difference: Difference): void {
    const group = this.#byKind.get(difference.kind) ?? { count: 0, listed: [] }
    this.#byKind.set(difference.kind, group)
    if (group.count < maxListedPerKind) group.listed.push(difference)
    group.count++
  }

  report(): ReportedDifferences {
    const groups = kinds.flatMap((kind) => {
      const group = this.#byKind.get(kind)
      return group === undefined ? [] : [{ kind, ...group }]
    })
    const counted = groups.filter(({ kind }) => !notedKinds.has(kind))
    const countsIn = (some: typeof groups): string => some.map(({ kind, count }) => `${count} ${kind}`).join(', ')
    const total = counted.reduce((sum, { count }) => sum + count, 0)
    return {
      isEqual: total === 0,
      lines: groups.flatMap(({ kind, count, listed }) => [
        ...listed.map(({ id, where, detail }) => `${kind} ${id.replace('/', ' ')} (${where}) ${detail}`),
        ...(count > listed.length ? [`${kind}: ${count - listed.length} more`] : []),
      ]),
      counts: Object.fromEntries(groups.map(({ kind, count }) => [kind, count])),
      differences: groups.flatMap(({ listed }) => listed.map(({ id, ...rest }) => ({ ...rest, key: id }))),
      summary: total === 0 ? 'equal' : `${total} differences (${countsIn(counted)})`,
      noted: countsIn(groups.filter(({ kind }) => notedKinds.has(kind))),
    }
  }
}

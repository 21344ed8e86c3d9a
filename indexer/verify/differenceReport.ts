import type { DocumentKind } from '../../src/core/elasticsearch/indices.ts'
import type { DocumentId } from '../../src/core/model/ids.ts'

/** So many differences of each kind are named. */
const maxNamed = 1_000

const accountKeyDifferences = ['key-accepted', 'key-deletion', 'key-contested', 'key-missing', 'key-differs'] as const
const documentDifferences = ['unexpected', 'missing', 'older', 'newer', 'content', 'time'] as const
export type Mismatch = (typeof documentDifferences)[number]
export type DifferenceKind = (typeof accountKeyDifferences)[number] | Mismatch | `${Mismatch}-detail`

/** The most serious kinds first; `docs/runbook.md` says what each means. */
const kinds: readonly DifferenceKind[] = [
  ...accountKeyDifferences,
  ...documentDifferences.flatMap((each) => [each, `${each}-detail`] as const),
]
/** Usually right: named, and no reason to say that replica and topics differ. */
const notes: ReadonlySet<DifferenceKind> = new Set(['newer', 'newer-detail'])

export type Difference = {
  readonly kind: DifferenceKind
  readonly id: DocumentId
  readonly where: DocumentKind | 'account-keys'
  readonly detail: string
}

/** Counts differences of every kind, and names the first ones of each. */
export class DifferenceReport {
  readonly #found = new Map<DifferenceKind, { count: number; readonly named: Difference[] }>()

  add(difference: Difference): void {
    const found = this.#found.get(difference.kind) ?? { count: 0, named: [] }
    this.#found.set(difference.kind, found)
    if (found.count < maxNamed) found.named.push(difference)
    found.count++
  }

  /**
   * A line for each difference that is named, and one for the rest of each kind. `summary`: `4 differences (3 missing, 1 content)`, or
   * `equal`; `noted`: `2 newer`, or nothing. `counts` and `differences` are for programs.
   */
  report() {
    const found = kinds.flatMap((kind) => {
      const of = this.#found.get(kind)
      return of === undefined ? [] : [{ kind, ...of }]
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

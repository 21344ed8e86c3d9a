import type { Clause } from '../../src/api/search/clauses.ts'
import type { ListCounts } from '../../src/api/search/listSnapshot.ts'
import { toInstant } from '../../src/core/model/instant.ts'

/** A row of an in-memory list that is searched as by Elasticsearch. */
export type Row = { readonly atMs: number; readonly id: string }

export const positionOf = ({ atMs, id }: Row): string => `${toInstant(atMs)}|${id}`
/** Compares by UTF-8 bytes, as Elasticsearch does. */
const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

export const newestFirst = (rows: readonly Row[]): Row[] =>
  rows.toSorted((a, b) => byBytes(positionOf(b), positionOf(a)))

type Bounds = { readonly gte?: string; readonly lte?: string }
const isBetween = (text: string, { gte, lte }: Bounds): boolean =>
  (gte === undefined || byBytes(text, gte) >= 0) && (lte === undefined || byBytes(text, lte) <= 0)

/** Whether a clause matches a row. */
export function finds(clause: Clause | undefined, row: Row): boolean {
  const { range } = (clause ?? {}) as Record<string, Record<string, never>>
  if (range?.['createdAt'] !== undefined) return isBetween(toInstant(row.atMs), range['createdAt'])
  if (range?.['position'] !== undefined) return isBetween(positionOf(row), range['position'])
  throw new Error(`not read here: ${JSON.stringify(clause)}`)
}

/** Counts rows. */
export const countsOf = (rows: readonly Row[]): ListCounts => ({
  countByTime: async (span, stepMs) => {
    const counts = new Map<number, number>()
    for (const { atMs } of rows) {
      if (span !== undefined && (atMs < span.fromMs || atMs > span.toMs)) continue
      const startMs = Math.floor(atMs / stepMs) * stepMs
      counts.set(startMs, (counts.get(startMs) ?? 0) + 1)
    }
    return [...counts].sort(([a], [b]) => b - a).map(([startMs, count]) => ({ startMs, count }))
  },
  countByCharacter: async (prefix) => {
    const counts = new Map<string | undefined, number>()
    for (const position of positionsBelow(rows, prefix)) {
      const character = position[prefix.length]
      counts.set(character, (counts.get(character) ?? 0) + 1)
    }
    const steps = [...counts].map(([character, count]) => ({ character, count }))
    return steps.sort((a, b) => byBytes(b.character ?? '', a.character ?? ''))
  },
  idsBeginWith: async (prefix) => {
    const [first = '', ...others] = positionsBelow(rows, prefix)
    let common = first
    for (const other of others) while (!other.startsWith(common)) common = common.slice(0, -1)
    return common.slice(common.indexOf('|') + 1)
  },
})

const positionsBelow = (rows: readonly Row[], prefix: string): string[] =>
  rows.map(positionOf).filter((position) => position.startsWith(prefix))

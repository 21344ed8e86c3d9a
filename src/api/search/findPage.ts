import { clampToInstants, toInstant } from '../../core/model/instant.ts'
import type { Clause } from './clauses.ts'

type TimeSpan = { readonly fromMs: number; readonly toMs: number }

/** A bucket of a date histogram over creation time. */
type TimeStep = { readonly startMs: number; readonly count: number }

/** Counts of one list in one snapshot. */
export type ListCounts = {
  /** Rows per step of creation time within a span, newest first; empty steps are left out. */
  countByTime(span: TimeSpan | undefined, stepMs: number): Promise<readonly TimeStep[]>
  /** Rows of a span per clause. */
  countEach(span: TimeSpan, clauses: readonly Clause[]): Promise<readonly number[]>
}

/**
 * A range of a list's sort key that holds a page: the page begins `skip` rows after the newest row that matches `clause`. `newer` matches all
 * rows before the range.
 */
export type KeyRange = { readonly clause: Clause; readonly newer: Clause; readonly skip: number }

/** The total, and the range that holds a page; undefined if the page lies past the end. */
export type PagePosition = { readonly total: number; readonly range: KeyRange | undefined }

/**
 * Each step divides the one before it, and few are in it. The years 0000 to 9999 have fewer steps of 90 days than the 65,536
 * that Elasticsearch counts at once.
 */
const stepsMs = [90 * 86_400_000, 3 * 3_600_000, 10_000, 1]
/** Rows that Elasticsearch may skip before a page: about as many as a page holds. */
const maxSkip = 100
/** A step with at most this many rows is searched instead of divided further. */
const maxStepRows = 1_000
/** The characters of ids in descending sort order of Elasticsearch. */
const idCharacters = [...'zyxwvutsrqponmlkjihgfedcba_ZYXWVUTSRQPONMLKJIHGFEDCBA:9876543210.-']

/**
 * Finds the `limit` rows from `offset` on without skipping all rows before them: counts by ever finer steps of creation time
 * locate the first row, and within one millisecond counts by the characters of the id. The range ends soon after the last row, and
 * is undefined if the list is shorter. `total` is exact.
 */
export async function findPage(list: ListCounts, offset: number, limit: number): Promise<PagePosition> {
  const levels: (readonly TimeStep[])[] = []
  let [span, skip, total] = [undefined as TimeSpan | undefined, offset, 0]
  for (const stepMs of stepsMs) {
    const steps = await list.countByTime(span, stepMs)
    if (span === undefined) {
      total = steps.reduce((sum, { count }) => sum + count, 0)
      if (offset >= total) return { total, range: undefined }
    }
    const found = stepOf(steps, skip)
    skip = found.skip
    span = { fromMs: found.startMs, toMs: found.startMs + stepMs - 1 }
    levels.push(steps.slice(found.at))
    if (skip <= maxSkip && (found.count <= maxStepRows || stepMs === 1)) {
      const clause = createdBetween(oldestStart(levels, skip + limit), span.toMs)
      return { total, range: { clause, newer: createdAfter(span.toMs), skip } }
    }
  }
  const oldestMs = oldestStart(levels, skip + limit)
  return { total, range: await findWithinMoment(list, span?.fromMs ?? 0, skip, oldestMs) }
}

/** The step that holds the row at `offset`, and how many of its rows come before that row. */
function stepOf(steps: readonly TimeStep[], offset: number): TimeStep & { readonly at: number; readonly skip: number } {
  let skip = offset
  for (const [at, { startMs, count }] of steps.entries()) {
    if (skip < count) return { at, startMs, count, skip }
    skip -= count
  }
  throw notAddingUp()
}

/** The start of the step that holds the last of so many rows. Each level divides the first step of the level before it. */
function oldestStart(levels: readonly (readonly TimeStep[])[], rows: number): number {
  let [left, oldestMs] = [rows, 0]
  for (const [level, steps] of levels.toReversed().entries()) {
    for (const { startMs, count } of level === 0 ? steps : steps.slice(1)) {
      oldestMs = startMs
      left -= count
      if (left <= 0) return oldestMs
    }
  }
  return oldestMs
}

/** Rows of one millisecond are ordered by id. Each iteration fixes one more character of it. */
async function findWithinMoment(list: ListCounts, atMs: number, offset: number, oldestMs: number): Promise<KeyRange> {
  const moment = { fromMs: atMs, toMs: atMs }
  let [prefix, skip] = [`${instantOf(atMs)}|`, offset]
  for (;;) {
    // An id sorts before all longer ids that begin with it, so in descending order it comes last.
    const clauses = [...idCharacters.map((character) => positionBelow(prefix, character)), positionIs(prefix)]
    const counts = await list.countEach(moment, clauses)
    const at = counts.findIndex((count) => {
      if (skip < count) return true
      skip -= count
      return false
    })
    const character = idCharacters[at]
    if (at === -1) throw notAddingUp()
    if (character === undefined) return upTo(prefix, oldestMs, skip)
    prefix += character
    if (skip <= maxSkip) return upTo(`${prefix}\u{10ffff}`, oldestMs, skip)
  }
}

const notAddingUp = (): Error => new Error('the counts of a snapshot do not add up')

/** Matches rows created within a span. */
export const createdBetween = (fromMs: number, toMs: number): Clause => ({
  range: { createdAt: { gte: instantOf(fromMs), lte: instantOf(toMs) } },
})
export const createdBefore = (epochMs: number): Clause => ({ range: { createdAt: { lt: instantOf(epochMs) } } })
export const createdAfter = (epochMs: number): Clause => ({ range: { createdAt: { gt: instantOf(epochMs) } } })
const upTo = (last: string, oldestMs: number, skip: number): KeyRange => ({
  clause: { range: { position: { gte: instantOf(oldestMs), lte: last } } },
  newer: { range: { position: { gt: last } } },
  skip,
})
const positionIs = (position: string): Clause => ({ term: { position } })
const positionBelow = (prefix: string, character: string): Clause => ({ prefix: { position: prefix + character } })

/** Clamped, because a step may begin before the first valid instant. */
const instantOf = (epochMs: number): string => toInstant(clampToInstants(epochMs))

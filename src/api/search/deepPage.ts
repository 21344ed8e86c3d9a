import { clampToInstants, toInstant } from '../../core/model/instant.ts'
import type { Clause } from './clauses.ts'

export type TimeSpan = { readonly fromMs: number; readonly toMs: number }

/** A step of created time that holds rows. */
export type TimeStep = { readonly startMs: number; readonly count: number }

/** Counts of one list, all of one moment of it. */
export type ListCounts = {
  /** By steps of created time within a span, newest first; steps without a row are left out. */
  countByTime(span: TimeSpan | undefined, stepMs: number): Promise<readonly TimeStep[]>
  /** How many rows of a span each clause finds. */
  countEach(span: TimeSpan, clauses: readonly Clause[]): Promise<readonly number[]>
}

/**
 * A stretch of a list that holds a page: the page begins so many rows after the newest one that `clause` finds. `newer` finds all
 * rows before the stretch.
 */
export type Stretch = { readonly clause: Clause; readonly newer: Clause; readonly skip: number }

/** How many rows there are, and where a page begins; nowhere when it lies past the end. */
export type Place = { readonly total: number; readonly stretch: Stretch | undefined }

/**
 * Each step divides the one before it, and few are in it. The years 0000 to 9999 have fewer steps of 90 days than the 65,536
 * that Elasticsearch counts at once.
 */
const stepsMs = [90 * 86_400_000, 3 * 3_600_000, 10_000, 1]
/** Rows that Elasticsearch may pass over: about as many as a page holds. */
const maxSkip = 100
/** Rows of a step that is narrow enough to be searched. */
const maxStepRows = 1_000
/** What an id consists of, highest first, as Elasticsearch sorts it. */
const idCharacters = [...'zyxwvutsrqponmlkjihgfedcba_ZYXWVUTSRQPONMLKJIHGFEDCBA:9876543210.-']

/**
 * Finds the `limit` rows from `offset` on without passing over those before them: counts by ever finer steps of time say in
 * which the first one lies, then counts by the characters of the id. The stretch ends soon after the last one. Undefined when
 * the list is shorter; `total` is exact.
 */
export async function findPage(list: ListCounts, offset: number, limit: number): Promise<Place> {
  const ladder: (readonly TimeStep[])[] = []
  let [span, skip, total] = [undefined as TimeSpan | undefined, offset, 0]
  for (const stepMs of stepsMs) {
    const steps = await list.countByTime(span, stepMs)
    if (span === undefined) {
      total = steps.reduce((sum, { count }) => sum + count, 0)
      if (offset >= total) return { total, stretch: undefined }
    }
    const found = stepOf(steps, skip)
    skip = found.skip
    span = { fromMs: found.startMs, toMs: found.startMs + stepMs - 1 }
    ladder.push(steps.slice(found.at))
    if (skip <= maxSkip && (found.count <= maxStepRows || stepMs === 1)) {
      const clause = createdBetween(oldestStart(ladder, skip + limit), span.toMs)
      return { total, stretch: { clause, newer: createdAfter(span.toMs), skip } }
    }
  }
  const oldestMs = oldestStart(ladder, skip + limit)
  return { total, stretch: await findWithinMoment(list, span?.fromMs ?? 0, skip, oldestMs) }
}

/** The step that holds a row, and how many rows of it come before. */
function stepOf(steps: readonly TimeStep[], offset: number): TimeStep & { readonly at: number; readonly skip: number } {
  let skip = offset
  for (const [at, { startMs, count }] of steps.entries()) {
    if (skip < count) return { at, startMs, count, skip }
    skip -= count
  }
  throw notAddingUp()
}

/** Where the step begins that holds the last of so many rows. Each rung of the ladder begins within the first step of the one before. */
function oldestStart(ladder: readonly (readonly TimeStep[])[], rows: number): number {
  let [left, oldestMs] = [rows, 0]
  for (const [rung, steps] of ladder.toReversed().entries()) {
    for (const { startMs, count } of rung === 0 ? steps : steps.slice(1)) {
      oldestMs = startMs
      left -= count
      if (left <= 0) return oldestMs
    }
  }
  return oldestMs
}

/** Rows of one millisecond are ordered by id: one character more at each turn. */
async function findWithinMoment(list: ListCounts, atMs: number, offset: number, oldestMs: number): Promise<Stretch> {
  const moment = { fromMs: atMs, toMs: atMs }
  let [prefix, skip] = [`${instantOf(atMs)}|`, offset]
  for (;;) {
    // An id sorts before all that begin with it, so it comes after them here.
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

/** The clause that finds what was created within a span. */
export const createdBetween = (fromMs: number, toMs: number): Clause => ({
  range: { createdAt: { gte: instantOf(fromMs), lte: instantOf(toMs) } },
})
const createdAfter = (epochMs: number): Clause => ({ range: { createdAt: { gt: instantOf(epochMs) } } })
const upTo = (last: string, oldestMs: number, skip: number): Stretch => ({
  clause: { range: { position: { gte: instantOf(oldestMs), lte: last } } },
  newer: { range: { position: { gt: last } } },
  skip,
})
const positionIs = (position: string): Clause => ({ term: { position } })
const positionBelow = (prefix: string, character: string): Clause => ({ prefix: { position: prefix + character } })

/** A step of time may begin before the first instant there is. */
const instantOf = (epochMs: number): string => toInstant(clampToInstants(epochMs))

import { clampToInstants, toInstant } from '../../core/model/instant.ts'
import { type Clause, createdWithin, type TimeSpan } from './clauses.ts'

/** A bucket of a date histogram over creation time. */
export type TimeStep = { readonly startMs: number; readonly count: number }

/** Rows of one millisecond whose ids continue with `character`; none is the row whose id ends there. */
type IdStep = { readonly character: string | undefined; readonly count: number }

/** Counts of one list in one snapshot. */
export type ListCounts = {
  /** Rows per step of creation time within a span, newest first; empty steps are left out. */
  countByTime(span: TimeSpan | undefined, stepMs: number): Promise<readonly TimeStep[]>
  /** Rows whose position begins with `prefix`, newest first; empty steps are left out. */
  countByCharacter(prefix: string): Promise<readonly IdStep[]>
  /** The common beginning of the ids of all rows, at least one, whose position begins with `prefix`. */
  idsBeginWith(prefix: string): Promise<string>
}

/** A range of a list's sort key that holds a page, which begins `skip` rows after the newest row that matches `clause`. */
export type KeyRange = { readonly clause: Clause; readonly skip: number }

/** Neighbouring rows, `skip` of which come before a wanted one: all of a span of time, or within one millisecond, all between two positions. */
type Place = TimeSpan & {
  readonly positions?: { readonly oldest: string; readonly newest: string }
  readonly skip: number
}

/** Each step divides the one before it. The years 0000 to 9999 have fewer steps of 90 days than the 65,536 that Elasticsearch counts at once. */
export const longestStepMs = 90 * 86_400_000
const stepsMs = [longestStepMs, 3 * 3_600_000, 10_000, 1]
/** Rows that Elasticsearch may skip before a page: about as many as a page holds. */
const maxSkip = 100
/** A step with at most this many rows is searched instead of divided further. */
const maxStepRows = 1_000
/** Sorts after every character of an id. */
const afterAll = '\u{10ffff}'

/**
 * Finds the `limit` rows from `offset` on without skipping all rows before them: counts by ever finer steps of creation time, within one
 * millisecond by the characters of the id, locate the first and the last row. So the range, undefined past the end, holds at most twice
 * `maxStepRows` rows more than the page. `total` is exact.
 */
export async function findPage(
  list: ListCounts,
  offset: number,
  limit: number,
): Promise<{ readonly total: number; readonly range: KeyRange | undefined }> {
  const steps = await list.countByTime(undefined, longestStepMs)
  const total = steps.reduce((sum, { count }) => sum + count, 0)
  if (offset >= total) return { total, range: undefined }
  const first = await locate(list, steps, offset, maxSkip)
  const last = await locate(list, steps, Math.min(offset + limit, total) - 1, maxStepRows)
  return { total, range: rangeOf(first, last) }
}

/** A place of at most `maxStepRows` rows that holds the row at `offset`, with at most so many rows before it. */
async function locate(
  list: ListCounts,
  steps: readonly TimeStep[],
  offset: number,
  mostSkipped: number,
  [stepMs = 1, ...finer]: readonly number[] = stepsMs,
): Promise<Place> {
  const { startMs, count, before } = stepOf(steps, offset)
  const span = { fromMs: startMs, toMs: startMs + stepMs - 1 }
  const place = { ...span, skip: offset - before }
  if (place.skip <= mostSkipped && count <= maxStepRows) return place
  if (finer[0] === undefined) return await locateWithinMoment(list, place, count, mostSkipped)
  return await locate(list, await list.countByTime(span, finer[0]), place.skip, mostSkipped, finer)
}

/** Rows of one millisecond are ordered by id. Each iteration fixes one more character of it, or several where all ids continue alike. */
async function locateWithinMoment(list: ListCounts, moment: Place, rows: number, mostSkipped: number): Promise<Place> {
  const begin = beginOf(moment.fromMs)
  let [prefix, count, skip] = [begin, rows, moment.skip]
  while (skip > mostSkipped || count > maxStepRows) {
    const found = stepOf(await list.countByCharacter(prefix), skip)
    skip -= found.before
    if (found.character === undefined) return { ...moment, skip, positions: { oldest: prefix, newest: prefix } }
    prefix += found.character
    if (found.count === count) prefix = begin + (await list.idsBeginWith(prefix))
    count = found.count
  }
  return { ...moment, skip, positions: { oldest: prefix, newest: prefix + afterAll } }
}

/** The step that holds the row at `offset`, and how many rows of other steps come before it. */
function stepOf<Step extends { readonly count: number }>(
  steps: readonly Step[],
  offset: number,
): Step & { readonly before: number } {
  let before = 0
  for (const step of steps) {
    if (offset < before + step.count) return { ...step, before }
    before += step.count
  }
  throw new Error('the counts of a snapshot do not add up')
}

/** From the begin of one place to the end of another one, which is the same or older. */
const rangeOf = (first: Place, last: Place): KeyRange => {
  const gte = last.positions?.oldest ?? beginOf(last.fromMs)
  const lte = first.positions?.newest ?? beginOf(first.toMs) + afterAll
  const isWithinMoment = first.positions !== undefined || last.positions !== undefined
  const clause = isWithinMoment
    ? { range: { position: { gte, lte } } }
    : createdWithin({ fromMs: last.fromMs, toMs: first.toMs })
  return { clause, skip: first.skip }
}

/** What all positions of a millisecond begin with. Clamped, because a step may begin before the first valid instant. */
const beginOf = (epochMs: number): string => `${toInstant(clampToInstants(epochMs))}|`

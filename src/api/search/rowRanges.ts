import { clampToInstants, toInstant } from '../../core/model/instant.ts'
import { type Clause, createdWithin, type TimeSpan } from './clauses.ts'
import type { KeyRange, ListCounts } from './listSnapshot.ts'

/** Adjacent rows: all of a time span, or, within one millisecond, all between two sort keys (creation time, `|`, id). */
type RowGroup = TimeSpan & {
  readonly sortKeys?: { readonly oldest: string; readonly newest: string }
  readonly count: number
  /** Newest first. */
  divide(): Promise<readonly RowGroup[]>
}

/** Of successive histograms. The years 0000 to 9999 fit into 65,536 buckets of 90 days. */
const stepsMs = [90 * 86_400_000, 3 * 3_600_000, 10_000, 1]
/** Skipped by Elasticsearch before a page. */
const maxSkip = 100
/** A page begins and ends in groups of at most so many rows. */
const maxGroupRows = 1_000
/** Sorts after all characters of ids. */
const afterAll = '\u{10ffff}'

export interface PageRange {
  readonly total: number
  /** Undefined past the end of the list. */
  readonly range: KeyRange | undefined
}

/**
 * Finds by counting the range that contains the `limit` rows from `offset` on:
 *
 * 1. Counts the rows of every 90 days.
 * 2. Within the 90 days of the first row, counts every 3 hours, and so on, until the row is in a small group.
 * 3. Does the same for the last row. The range, from one group to the other, has at most `2 * maxGroupRows` rows more than the page.
 */
export async function rangeOfPage(list: ListCounts, offset: number, limit: number): Promise<PageRange> {
  const groups = await groupsByTime(list)
  const total = totalOf(groups)
  if (offset >= total) return { total, range: undefined }
  const { group: newest, skip } = await locate(groups, offset, maxSkip)
  const { group: oldest } = await locate(groups, Math.min(offset + limit, total) - 1, maxGroupRows)
  const range: KeyRange = { clause: clauseBetween(newest, oldest), skip }
  return { total, range }
}

export const countRows = async (list: ListCounts): Promise<number> => totalOf(await groupsByTime(list))

const totalOf = (groups: readonly RowGroup[]): number => groups.reduce((sum, { count }) => sum + count, 0)

/** Joins small groups, and divides large ones, into ranges of at most `limit` rows, newest first. */
export async function* rangesOfRows(
  list: ListCounts,
  limit: number,
  groups?: readonly RowGroup[],
): AsyncGenerator<{ readonly clause: Clause; readonly count: number }, void, undefined> {
  let joinedGroups: RowGroup[] = []
  let count = 0
  const joinedRange = (newest: RowGroup) => ({ clause: clauseBetween(newest, joinedGroups.at(-1) ?? newest), count })
  for (const group of groups ?? (await groupsByTime(list))) {
    if (joinedGroups[0] !== undefined && count + group.count > limit) {
      yield joinedRange(joinedGroups[0])
      joinedGroups = []
      count = 0
    }
    if (group.count > limit) yield* rangesOfRows(list, limit, await group.divide())
    else {
      joinedGroups.push(group)
      count += group.count
    }
  }
  if (joinedGroups[0] !== undefined) yield joinedRange(joinedGroups[0])
}

/** Divides by the longest of `stepsMs`, further by the next ones, then by id. */
async function groupsByTime(
  list: ListCounts,
  span?: TimeSpan,
  [stepMs = 1, ...finerStepsMs]: readonly number[] = stepsMs,
): Promise<readonly RowGroup[]> {
  const steps = await list.countByTime(span, stepMs)
  return steps.map(({ startMs, count }) => {
    const step = { fromMs: startMs, toMs: startMs + stepMs - 1 }
    const divide = () =>
      finerStepsMs.length > 0 ? groupsByTime(list, step, finerStepsMs) : groupsById(list, step, timePrefix(startMs))
    return { ...step, count, divide }
  })
}

/** Divides by the character after `prefix`. If all rows have the same, the further division skips their whole common prefix at once. */
async function groupsById(list: ListCounts, millisecond: TimeSpan, prefix: string): Promise<readonly RowGroup[]> {
  const counts = await list.countByCharacter(prefix)
  return counts.map(({ character, count }) => {
    const longerPrefix = prefix + (character ?? '')
    const divide = async () => {
      const hasOneCharacter = counts.length === 1
      const commonPrefix = hasOneCharacter
        ? timePrefix(millisecond.fromMs) + (await list.idsBeginWith(longerPrefix))
        : longerPrefix
      return await groupsById(list, millisecond, commonPrefix)
    }
    // Without a next character, the sort key ends here.
    const newest = character === undefined ? longerPrefix : longerPrefix + afterAll
    return { ...millisecond, sortKeys: { oldest: longerPrefix, newest }, count, divide }
  })
}

/** `skip`: how many rows of the group come before `offset`, at most `mostSkipped`. */
async function locate(
  groups: readonly RowGroup[],
  offset: number,
  mostSkipped: number,
): Promise<{ readonly group: RowGroup; readonly skip: number }> {
  let skip = offset
  for (const group of groups) {
    if (skip < group.count) {
      const isSmallEnough = skip <= mostSkipped && group.count <= maxGroupRows
      return isSmallEnough ? { group, skip } : await locate(await group.divide(), skip, mostSkipped)
    }
    skip -= group.count
  }
  throw new Error('the counts of a snapshot do not add up')
}

function clauseBetween(newest: RowGroup, oldest: RowGroup): Clause {
  if (newest.sortKeys === undefined && oldest.sortKeys === undefined)
    return createdWithin({ fromMs: oldest.fromMs, toMs: newest.toMs })
  const gte = oldest.sortKeys?.oldest ?? timePrefix(oldest.fromMs)
  const lte = newest.sortKeys?.newest ?? timePrefix(newest.toMs) + afterAll
  return { range: { position: { gte, lte } } }
}

/** Clamped, because the first step may begin before the first valid instant. */
const timePrefix = (epochMs: number): string => `${toInstant(clampToInstants(epochMs))}|`

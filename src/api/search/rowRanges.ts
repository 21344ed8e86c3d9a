import { clampToInstants, toInstant } from '../../core/model/instant.ts'
import { type Clause, createdWithin, type TimeSpan } from './clauses.ts'
import type { KeyRange, ListCounts } from './listSnapshot.ts'

/** Adjacent rows: all of a time span, or, within one millisecond, all between two sort keys (`clauses.ts`). */
type RowGroup = TimeSpan & {
  readonly sortKeys?: { readonly oldest: string; readonly newest: string }
  readonly count: number
  divide(): Promise<readonly RowGroup[]>
}

/** Histogram intervals; each divides the former interval. The years 0000 to 9999 fit into 65,536 buckets of 90 days. */
const stepsMs = [90 * 86_400_000, 3 * 3_600_000, 10_000, 1]
/** The most rows that Elasticsearch skips before a page. */
const maxSkip = 100
/** Groups with more rows are divided before they are searched. */
const maxGroupRows = 1_000
/** Sorts after all characters of ids. */
const afterAll = '\u{10ffff}'

export interface PageRange {
  readonly total: number
  /** Undefined past the end. */
  readonly range: KeyRange | undefined
}

/**
 * Finds the range of sort keys with the `limit` rows from `offset` on, by counting. Counts the rows per 90 days; then, within the 90 days of the
 * page's first row, per 3 hours, and so on; likewise for the page's last row. The range has at most `2 * maxGroupRows` rows more than the page.
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

/** Splits a list, or only the `groups`, into ranges of at most `limit` rows, newest first. */
export async function* rangesOfRows(
  list: ListCounts,
  limit: number,
  groups?: readonly RowGroup[],
): AsyncGenerator<{ readonly clause: Clause; readonly count: number }, void, undefined> {
  let joinedGroups: RowGroup[] = []
  let count = 0
  const range = (newest: RowGroup) => ({ clause: clauseBetween(newest, joinedGroups.at(-1) ?? newest), count })
  for (const group of groups ?? (await groupsByTime(list))) {
    if (joinedGroups[0] !== undefined && count + group.count > limit) {
      yield range(joinedGroups[0])
      joinedGroups = []
      count = 0
    }
    if (group.count > limit) yield* rangesOfRows(list, limit, await group.divide())
    else {
      joinedGroups.push(group)
      count += group.count
    }
  }
  if (joinedGroups[0] !== undefined) yield range(joinedGroups[0])
}

async function groupsByTime(
  list: ListCounts,
  span?: TimeSpan,
  [stepMs = 1, ...finerStepsMs]: readonly number[] = stepsMs,
): Promise<readonly RowGroup[]> {
  const steps = await list.countByTime(span, stepMs)
  return steps.map(({ startMs, count }) => {
    const step = { fromMs: startMs, toMs: startMs + stepMs - 1 }
    const divide = () =>
      finerStepsMs.length > 0 ? groupsByTime(list, step, finerStepsMs) : groupsById(list, step, prefixOf(startMs))
    return { ...step, count, divide }
  })
}

/** Divides a millisecond by the next character of the ids. If all ids share this character, their common prefix is skipped at once. */
async function groupsById(list: ListCounts, moment: TimeSpan, prefix: string): Promise<readonly RowGroup[]> {
  const counts = await list.countByCharacter(prefix)
  return counts.map(({ character, count }) => {
    const oldest = prefix + (character ?? '')
    const divide = async () => {
      const isOnlyCharacter = counts.length === 1
      const next = isOnlyCharacter ? prefixOf(moment.fromMs) + (await list.idsBeginWith(oldest)) : oldest
      return await groupsById(list, moment, next)
    }
    const newest = character === undefined ? oldest : oldest + afterAll
    return { ...moment, sortKeys: { oldest, newest }, count, divide }
  })
}

/**
 * Finds the group of the row at `offset`, with at most `maxGroupRows` rows. `skip`: the rows of this group before that row, at most
 * `mostSkipped`.
 */
async function locate(
  groups: readonly RowGroup[],
  offset: number,
  mostSkipped: number,
): Promise<{ readonly group: RowGroup; readonly skip: number }> {
  let skip = offset
  for (const group of groups) {
    if (skip < group.count)
      return skip <= mostSkipped && group.count <= maxGroupRows
        ? { group, skip }
        : await locate(await group.divide(), skip, mostSkipped)
    skip -= group.count
  }
  throw new Error('the counts of a snapshot do not add up')
}

function clauseBetween(newest: RowGroup, oldest: RowGroup): Clause {
  if (newest.sortKeys === undefined && oldest.sortKeys === undefined)
    return createdWithin({ fromMs: oldest.fromMs, toMs: newest.toMs })
  const gte = oldest.sortKeys?.oldest ?? prefixOf(oldest.fromMs)
  const lte = newest.sortKeys?.newest ?? prefixOf(newest.toMs) + afterAll
  return { range: { position: { gte, lte } } }
}

/** The common prefix of all sort keys of a millisecond. Clamped, because the first step may begin before the first valid instant. */
const prefixOf = (epochMs: number): string => `${toInstant(clampToInstants(epochMs))}|`

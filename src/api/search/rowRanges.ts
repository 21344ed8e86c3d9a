import { clampToInstants, toInstant } from '../../core/model/instant.ts'
import { type Clause, createdWithin, type TimeSpan } from './clauses.ts'
import type { KeyRange, ListCounts } from './listSnapshot.ts'

/** Adjacent rows: all of a time span, or, within one millisecond, all between two positions (sort keys of the list). */
type Place = TimeSpan & {
  readonly positions?: { readonly oldest: string; readonly newest: string }
  readonly count: number
  divide(): Promise<readonly Place[]>
}

/** Histogram intervals, each a divisor of the one before. The years 0000 to 9999 fit into 65,536 buckets of 90 days. */
const stepsMs = [90 * 86_400_000, 3 * 3_600_000, 10_000, 1]
/** The most rows that Elasticsearch skips before a page. */
const maxSkip = 100
/** Places with more rows are divided before they are searched. */
const maxPlaceRows = 1_000
/** Sorts after all characters of ids. */
const afterAll = '\u{10ffff}'

export interface PageRange {
  readonly total: number
  /** Undefined past the end. */
  readonly range: KeyRange | undefined
}

/**
 * Finds the range of sort keys with the `limit` rows from `offset` on, by counting. Counts the rows per 90 days; then, within the 90 days of the
 * page's first row, per 3 hours, and so on; then the same for the last row. The range has at most `2 * maxPlaceRows` rows more than the page.
 */
export async function rangeOfPage(list: ListCounts, offset: number, limit: number): Promise<PageRange> {
  const places = await placesByTime(list)
  const total = totalOf(places)
  if (offset >= total) return { total, range: undefined }
  const { place: newest, skip } = await locate(places, offset, maxSkip)
  const { place: oldest } = await locate(places, Math.min(offset + limit, total) - 1, maxPlaceRows)
  const range: KeyRange = { clause: between(newest, oldest), skip }
  return { total, range }
}

export const countRows = async (list: ListCounts): Promise<number> => totalOf(await placesByTime(list))

const totalOf = (places: readonly Place[]): number => places.reduce((sum, { count }) => sum + count, 0)

/** Splits a list, or only its `places`, into ranges of at most `limit` rows, newest first. */
export async function* rangesOfRows(
  list: ListCounts,
  limit: number,
  places?: readonly Place[],
): AsyncGenerator<{ readonly clause: Clause; readonly count: number }, void, undefined> {
  let joined: Place[] = []
  let count = 0
  const range = (newest: Place) => ({ clause: between(newest, joined.at(-1) ?? newest), count })
  for (const place of places ?? (await placesByTime(list))) {
    if (joined[0] !== undefined && count + place.count > limit) {
      yield range(joined[0])
      joined = []
      count = 0
    }
    if (place.count > limit) yield* rangesOfRows(list, limit, await place.divide())
    else {
      joined.push(place)
      count += place.count
    }
  }
  if (joined[0] !== undefined) yield range(joined[0])
}

async function placesByTime(
  list: ListCounts,
  span?: TimeSpan,
  [stepMs = 1, ...finer]: readonly number[] = stepsMs,
): Promise<readonly Place[]> {
  const steps = await list.countByTime(span, stepMs)
  return steps.map(({ startMs, count }) => {
    const within = { fromMs: startMs, toMs: startMs + stepMs - 1 }
    const divide = () =>
      finer.length > 0 ? placesByTime(list, within, finer) : placesById(list, within, beginOf(startMs))
    return { ...within, count, divide }
  })
}

/** Divides a millisecond by the next character of the ids. If all ids share it, their common prefix is skipped at once. */
async function placesById(list: ListCounts, moment: TimeSpan, begin: string): Promise<readonly Place[]> {
  const steps = await list.countByCharacter(begin)
  return steps.map(({ character, count }) => {
    const oldest = begin + (character ?? '')
    const divide = async () => {
      const isAlone = steps.length === 1
      const next = isAlone ? beginOf(moment.fromMs) + (await list.idsBeginWith(oldest)) : oldest
      return await placesById(list, moment, next)
    }
    const newest = character === undefined ? oldest : oldest + afterAll
    return { ...moment, positions: { oldest, newest }, count, divide }
  })
}

/**
 * Finds a place with the row at `offset`, and with at most `maxPlaceRows` rows. `skip`: the rows in this place before that row, at most
 * `mostSkipped`.
 */
async function locate(
  places: readonly Place[],
  offset: number,
  mostSkipped: number,
): Promise<{ readonly place: Place; readonly skip: number }> {
  let skip = offset
  for (const place of places) {
    if (skip < place.count)
      return skip <= mostSkipped && place.count <= maxPlaceRows
        ? { place, skip }
        : await locate(await place.divide(), skip, mostSkipped)
    skip -= place.count
  }
  throw new Error('the counts of a snapshot do not add up')
}

function between(newest: Place, oldest: Place): Clause {
  if (newest.positions === undefined && oldest.positions === undefined)
    return createdWithin({ fromMs: oldest.fromMs, toMs: newest.toMs })
  const gte = oldest.positions?.oldest ?? beginOf(oldest.fromMs)
  const lte = newest.positions?.newest ?? beginOf(newest.toMs) + afterAll
  return { range: { position: { gte, lte } } }
}

/** The common prefix of all positions of a millisecond. Clamped, because the first step may begin before the first valid instant. */
const beginOf = (epochMs: number): string => `${toInstant(clampToInstants(epochMs))}|`

import { clampToInstants, toInstant } from '../../core/model/instant.ts'
import { type Clause, createdWithin, type TimeSpan } from './clauses.ts'

/** A bucket of a date histogram over creation time. */
type TimeStep = { readonly startMs: number; readonly count: number }

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

/** Neighbouring rows: all of a span of time, or within one millisecond, all between two positions. */
type Place = TimeSpan & {
  readonly positions?: { readonly oldest: string; readonly newest: string }
  readonly count: number
  /** The smaller places of these rows, newest first. */
  divide(): Promise<readonly Place[]>
}

/** Each step divides the one before it. The years 0000 to 9999 have fewer steps of 90 days than the 65,536 that Elasticsearch counts at once. */
const stepsMs = [90 * 86_400_000, 3 * 3_600_000, 10_000, 1]
/** Rows that Elasticsearch may skip before a page: about as many as a page holds. */
const maxSkip = 100
/** A place with at most this many rows is searched instead of divided further. */
const maxPlaceRows = 1_000
/** Sorts after every character of an id. */
const afterAll = '\u{10ffff}'

/**
 * Finds the `limit` rows from `offset` on without skipping all rows before them: the first and the last row are looked for in ever smaller
 * places. So the range, undefined past the end, holds at most twice `maxPlaceRows` rows more than the page. `total` is exact.
 */
export async function findPage(list: ListCounts, offset: number, limit: number) {
  const places = await placesByTime(list)
  const total = places.reduce((sum, { count }) => sum + count, 0)
  if (offset >= total) return { total }
  const { place: newest, skip } = await locate(places, offset, maxSkip)
  const { place: oldest } = await locate(places, Math.min(offset + limit, total) - 1, maxPlaceRows)
  const range: KeyRange = { clause: between(newest, oldest), skip }
  return { total, range }
}

/** Yields all rows of a list, newest first, as ranges of at most `limit` rows. */
export async function* walkRows(
  list: ListCounts,
  limit: number,
): AsyncGenerator<{ readonly clause: Clause; readonly count: number }, void, undefined> {
  yield* walk(await placesByTime(list), limit)
}

async function* walk(places: readonly Place[], limit: number): ReturnType<typeof walkRows> {
  let [joined, count]: [Place[], number] = [[], 0]
  const range = (newest: Place) => ({ clause: between(newest, joined.at(-1) ?? newest), count })
  for (const place of places) {
    if (joined[0] !== undefined && count + place.count > limit) {
      yield range(joined[0])
      ;[joined, count] = [[], 0]
    }
    if (place.count > limit) yield* walk(await place.divide(), limit)
    else {
      joined.push(place)
      count += place.count
    }
  }
  if (joined[0] !== undefined) yield range(joined[0])
}

/** The places of a list in steps of creation time, newest first. */
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

/** Rows of one millisecond are ordered by id. Their places are divided by one more character of it, or several where all ids continue alike. */
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

/** A place of at most `maxPlaceRows` rows that holds the row at `offset`, `skip` rows after its newest one: at most `mostSkipped`. */
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

/** Matches the rows from one place to another one, which is the same or older. */
function between(newest: Place, oldest: Place): Clause {
  if (newest.positions === undefined && oldest.positions === undefined)
    return createdWithin({ fromMs: oldest.fromMs, toMs: newest.toMs })
  const gte = oldest.positions?.oldest ?? beginOf(oldest.fromMs)
  const lte = newest.positions?.newest ?? beginOf(newest.toMs) + afterAll
  return { range: { position: { gte, lte } } }
}

/** What all positions of a millisecond begin with. Clamped, because a step may begin before the first valid instant. */
const beginOf = (epochMs: number): string => `${toInstant(clampToInstants(epochMs))}|`

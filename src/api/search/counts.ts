import { z } from 'zod'
import { accepted, type Result, refused } from '../../core/model/schema.ts'
import type { TimeZone } from '../parameters.ts'
import { countOnly, type Filter, ofTeam, type TimeSpan } from './clauses.ts'
import { aggregationsIn, type SearchAnswer, type SearchBody, searchTeam, totalOf } from './hits.ts'
import { ElasticsearchUnavailable, InvalidSearch, type SearchedList } from './searchClient.ts'

export type Counts = {
  readonly totalDocs: number
  readonly items: readonly { readonly key: string; readonly count: number }[]
}

type Selection = { readonly list: SearchedList; readonly filter: Filter; readonly signal: AbortSignal }

export const maxCounts = 10_000
/** More than the units by which any time zone differs from UTC, with all its offsets and skipped days. */
const spareUnits = 10
/** Keys of items: the local time at the start of a unit, with its UTC offset. */
const keyFormat = "uuuu-MM-dd'T'HH:mm:ss.SSSxxx"

const edgeSchema = z.object({ value: z.number().nullable() })
const spanSchema = z.object({ oldest: edgeSchema, newest: edgeSchema })
const timesSchema = z.object({
  items: z.object({ buckets: z.array(z.object({ key_as_string: z.string(), doc_count: z.int() })) }),
})
const valuesSchema = z.object({
  items: z.object({
    // All documents of a team are in one shard, so the counts of its most frequent values are exact.
    doc_count_error_upper_bound: z.literal(0),
    sum_other_doc_count: z.int(),
    buckets: z.array(z.object({ key: z.string(), doc_count: z.int() })),
  }),
})

/**
 * Counts submissions by creation time, oldest first, empty units between the first and the last included. Bounds limit the buckets that
 * Elasticsearch builds: first a span that probably holds all submissions; if it does not, the real span, unless that is too long.
 */
export async function countByTime(
  selection: Selection,
  { unit, timeZone, nowMs }: { readonly unit: TimeUnit; readonly timeZone: TimeZone; readonly nowMs: number },
): Promise<Result<Counts>> {
  const tooMany = (units: string): Result<Counts> =>
    refused(`by=${unit}`, `makes ${units} items of at most ${maxCounts}: narrow since and until`)
  const histogram = { field: 'createdAt', calendar_interval: unit, time_zone: timeZone, format: keyFormat }
  const countWithin = async ({ fromMs, toMs }: TimeSpan): Promise<Counts> => {
    // Elasticsearch counts a unit only if it ends before the upper bound; every unit is shorter than twice the shortest.
    const hard_bounds = { min: fromMs, max: toMs + 2 * shortestMs[unit] }
    const aggs = { items: { date_histogram: { ...histogram, min_doc_count: 0, hard_bounds } } }
    const answer = await search(selection, { ...countOnly, aggs })
    const { buckets } = aggregationsIn(timesSchema, answer).items
    const items = buckets.map(({ key_as_string, doc_count }) => ({ key: key_as_string, count: doc_count }))
    return { totalDocs: totalOf(answer), items }
  }
  try {
    let counts = await countWithin(likelySpan(unit, maxCounts, nowMs))
    if (sumOf(counts) < counts.totalDocs) {
      const span = await findSpan(selection)
      const units = spannedUnits(unit, span)
      if (units > maxCounts + spareUnits) return tooMany(`about ${units}`)
      counts = await countWithin(span)
    }
    return counts.items.length > maxCounts ? tooMany(String(counts.items.length)) : addUp(counts)
  } catch (error) {
    if (error instanceof InvalidSearch && error.type === 'zone_rules_exception')
      return refused('timeZone', 'is not known to Elasticsearch')
    throw error
  }
}

/** Counts submissions by the values of a field, the most frequent first. */
export async function countByValue(selection: Selection, field: 'formId' | 'status'): Promise<Result<Counts>> {
  const aggs = { items: { terms: { field, size: maxCounts, order: [{ _count: 'desc' }, { _key: 'asc' }] } } }
  const answer = await search(selection, { ...countOnly, aggs })
  const { buckets, sum_other_doc_count } = aggregationsIn(valuesSchema, answer).items
  if (sum_other_doc_count > 0)
    return refused(
      `by=${field === 'formId' ? 'form' : field}`,
      `makes more than ${maxCounts} items: narrow since and until, or choose another`,
    )
  return addUp({ totalDocs: totalOf(answer), items: buckets.map(({ key, doc_count }) => ({ key, count: doc_count })) })
}

/** The span from the oldest to the newest submission; a moment in 1970 if there is none. */
async function findSpan(selection: Selection): Promise<TimeSpan> {
  const field = 'createdAt'
  // `stats` would fail where it cannot print the sum of all times as a date.
  const aggs = { oldest: { min: { field } }, newest: { max: { field } } }
  const answer = await search(selection, { size: 0, track_total_hits: false, aggs })
  const { oldest, newest } = aggregationsIn(spanSchema, answer)
  return { fromMs: oldest.value ?? 0, toMs: newest.value ?? 0 }
}

const search = ({ list, filter, signal }: Selection, body: SearchBody): Promise<SearchAnswer> =>
  searchTeam(list, { ...body, query: ofTeam(list.teamId, filter) }, signal)

const sumOf = ({ items }: Counts): number => items.reduce((sum, { count }) => sum + count, 0)

/** Throws `ElasticsearchUnavailable` unless every submission is counted in one item. */
function addUp(counts: Counts): Result<Counts> {
  if (sumOf(counts) === counts.totalDocs) return accepted(counts)
  throw new ElasticsearchUnavailable('partial', `${sumOf(counts)} of ${counts.totalDocs} are counted`)
}

export const timeUnits = ['hour', 'day', 'month'] as const
export type TimeUnit = (typeof timeUnits)[number]

const dayMs = 86_400_000
const shortestMs: Readonly<Record<TimeUnit, number>> = { hour: 3_600_000, day: dayMs, month: 28 * dayMs }

/** The last `units` units, or fewer, until tomorrow: a span that probably holds all submissions. */
export function likelySpan(unit: TimeUnit, units: number, nowMs: number): TimeSpan {
  const toMs = nowMs + dayMs
  return { fromMs: toMs - (units - 1) * shortestMs[unit], toMs }
}

/** The number of UTC units that a span touches. */
export const spannedUnits = (unit: TimeUnit, { fromMs, toMs }: TimeSpan): number =>
  numberOf(unit, toMs) - numberOf(unit, fromMs) + 1

/** The ordinal number of the UTC unit that contains a time. */
function numberOf(unit: TimeUnit, epochMs: number): number {
  if (unit !== 'month') return Math.floor(epochMs / shortestMs[unit])
  const date = new Date(epochMs)
  return date.getUTCFullYear() * 12 + date.getUTCMonth()
}

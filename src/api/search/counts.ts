import { z } from 'zod'
import type { TeamId } from '../../core/model/ids.ts'
import { accepted, type Result, refused } from '../../core/model/result.ts'
import type { EntityType } from '../../core/model/teamList.ts'
import type { TimeZone } from '../parameters.ts'
import { anyAtAll, type Clause, countOnly, deletedOfTeam, ofTeam } from './clauses.ts'
import type { ExportContent } from './exports.ts'
import { createdAfter, createdBefore } from './findPage.ts'
import { type SearchAnswer, searchTeam, totalOf } from './hits.ts'
import { ElasticsearchUnavailable, InvalidSearch, type SearchClient } from './searchClient.ts'

/** How many submissions match, and how many of them each key has. */
export type Counts = {
  readonly totalDocs: number
  readonly items: readonly { readonly key: string; readonly count: number }[]
}

/** Which submissions of which team are counted. */
type Selection = { readonly teamId: TeamId; readonly filter: readonly Clause[]; readonly signal: AbortSignal }

type TimeGrouping = {
  readonly unit: TimeUnit
  readonly timeZone: TimeZone
  /** The window of creation time that the filter leaves. */
  readonly window: TimeWindow
  readonly nowMs: number
}

export const maxCounts = 10_000
/** Fractional offsets and skipped days: the clocks of no zone make so many more or fewer units than that of UTC. */
const spareUnits = 10
/** The clock of the zone at the start of a unit, with its offset. */
const keyFormat = "uuuu-MM-dd'T'HH:mm:ss.SSSxxx"

const spanSchema = z.object({
  oldest: z.object({ value: z.number().nullable() }),
  newest: z.object({ value: z.number().nullable() }),
})
const timesSchema = z.object({
  items: z.object({ buckets: z.array(z.object({ key_as_string: z.string(), doc_count: z.int() })) }),
})
const valueCountSchema = z.object({ values: z.object({ value: z.int() }) })
const valuesSchema = z.object({
  items: z.object({
    // All documents of a team are in one shard, so the counts of its most frequent values are exact.
    doc_count_error_upper_bound: z.literal(0),
    sum_other_doc_count: z.int(),
    buckets: z.array(z.object({ key: z.string(), doc_count: z.int() })),
  }),
})

/**
 * Counts submissions by creation time, oldest first: each unit of time from the first to the last that has any. Elasticsearch would
 * build every unit in between, so too many of them are refused by the span that they cover. Rejects with `ElasticsearchUnavailable`.
 */
export async function countByTime(
  client: SearchClient,
  selection: Selection,
  { unit, timeZone, window, nowMs }: TimeGrouping,
): Promise<Result<Counts>> {
  const tooMany = (units: string): Result<Counts> =>
    refused(`by=${unit}`, `makes ${units} items of at most ${maxCounts}: narrow since and until`)

  // To find nothing outside of a span takes much less than to find the oldest and the newest.
  const isShort =
    isNarrow(unit, window) || (await isWithin(client, selection, likelySpan(unit, maxCounts, window, nowMs)))
  const span = isShort ? undefined : await findSpan(client, selection)
  const units = span === undefined ? 0 : spannedUnits(unit, span)
  if (units > maxCounts + spareUnits) return tooMany(`about ${units}`)
  const date_histogram = { field: 'createdAt', calendar_interval: unit, time_zone: timeZone, min_doc_count: 0 }
  const aggs = { items: { date_histogram: { ...date_histogram, format: keyFormat } } }
  try {
    const answer = await search(client, selection, { ...countOnly, aggs })
    const { buckets } = readAggregations(timesSchema, answer).items
    if (buckets.length > maxCounts) return tooMany(String(buckets.length))
    const items = buckets.map(({ key_as_string, doc_count }) => ({ key: key_as_string, count: doc_count }))
    return accepted(addUp(totalOf(answer), items))
  } catch (error) {
    if (!(error instanceof InvalidSearch)) throw error
    if (error.type === 'zone_rules_exception') return refused('timeZone', 'is not known to Elasticsearch')
    // A submission that lies far outside of the span has just been added.
    if (error.type === 'too_many_buckets_exception') return tooMany('many more')
    throw error
  }
}

/** Counts submissions by the values of a field, the most frequent first. Rejects with `ElasticsearchUnavailable`. */
export async function countByValue(
  client: SearchClient,
  selection: Selection,
  field: 'formId' | 'status',
): Promise<Result<Counts>> {
  const aggs = { items: { terms: { field, size: maxCounts, order: [{ _count: 'desc' }, { _key: 'asc' }] } } }
  const answer = await search(client, selection, { ...countOnly, aggs })
  const { buckets, sum_other_doc_count } = readAggregations(valuesSchema, answer).items
  if (sum_other_doc_count > 0) {
    const values = await countValues(client, selection, field)
    return refused(
      `by=${field === 'formId' ? 'form' : field}`,
      `makes about ${values} items of at most ${maxCounts}: narrow since and until, or choose another`,
    )
  }
  const items = buckets.map(({ key, doc_count }) => ({ key, count: doc_count }))
  return accepted(addUp(totalOf(answer), items))
}

/** About how many values a field has. */
async function countValues(client: SearchClient, selection: Selection, field: string): Promise<number> {
  const aggs = { values: { cardinality: { field, precision_threshold: 4 * maxCounts } } }
  const answer = await search(client, selection, { size: 0, track_total_hits: false, aggs })
  return Math.max(maxCounts + 1, readAggregations(valueCountSchema, answer).values.value)
}

/** Whether a window alone leaves no more items than an answer may have. */
const isNarrow = (unit: TimeUnit, { sinceMs, untilMs }: TimeWindow): boolean =>
  sinceMs !== undefined && untilMs !== undefined && spannedUnits(unit, { fromMs: sinceMs, toMs: untilMs }) <= maxCounts

/** Whether all were created within a span. */
async function isWithin(client: SearchClient, selection: Selection, { fromMs, toMs }: TimeSpan): Promise<boolean> {
  // Finds none by the index of times; what must not be inside would be looked for in every row.
  const outside = { bool: { should: [createdBefore(fromMs), createdAfter(toMs)] } }
  const answer = await search(client, { ...selection, filter: [...selection.filter, outside] }, countOnly)
  return totalOf(answer) === 0
}

/** From the oldest to the newest; undefined if there is none. */
async function findSpan(client: SearchClient, selection: Selection): Promise<TimeSpan | undefined> {
  const aggs = { oldest: { min: { field: 'createdAt' } }, newest: { max: { field: 'createdAt' } } }
  const answer = await search(client, selection, { size: 0, track_total_hits: false, aggs })
  const { oldest, newest } = readAggregations(spanSchema, answer)
  return oldest.value === null || newest.value === null ? undefined : { fromMs: oldest.value, toMs: newest.value }
}

const search = (
  client: SearchClient,
  { teamId, filter, signal }: Selection,
  body: Readonly<Record<string, unknown>>,
): Promise<SearchAnswer> =>
  searchTeam(client, 'submissions', teamId, { ...body, query: ofTeam(teamId, filter) }, signal)

function readAggregations<T>(schema: z.ZodType<T>, { aggregations }: SearchAnswer): T {
  const read = schema.safeParse(aggregations)
  if (read.success) return read.data
  throw new ElasticsearchUnavailable('partial', `aggregations: ${read.error.issues[0]?.path.join('.') ?? ''}`)
}

/** Throws `ElasticsearchUnavailable` unless every submission is counted in one item. */
function addUp(totalDocs: number, items: Counts['items']): Counts {
  const sum = items.reduce((added, { count }) => added + count, 0)
  if (sum === totalDocs) return { totalDocs, items }
  throw new ElasticsearchUnavailable('partial', `${sum} of ${totalDocs} are counted`)
}

export const timeUnits = ['hour', 'day', 'month'] as const
export type TimeUnit = (typeof timeUnits)[number]

/** A span of time, both ends included. */
export type TimeSpan = { readonly fromMs: number; readonly toMs: number }

/** A window of time that may be open. */
export type TimeWindow = { readonly sinceMs: number | undefined; readonly untilMs: number | undefined }

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const shortestMs: Readonly<Record<TimeUnit, number>> = { hour: hourMs, day: dayMs, month: 28 * dayMs }

/**
 * A span of at most so many units that is likely to hold what a window selects: it ends with the window or a day from now, or begins
 * with the window when that began later.
 */
export function likelySpan(unit: TimeUnit, units: number, { sinceMs, untilMs }: TimeWindow, nowMs: number): TimeSpan {
  const lengthMs = (units - 1) * shortestMs[unit]
  const fromMs =
    untilMs === undefined ? Math.max(sinceMs ?? Number.NEGATIVE_INFINITY, nowMs + dayMs - lengthMs) : untilMs - lengthMs
  return { fromMs, toMs: fromMs + lengthMs }
}

/** The number of units of time from one moment to another, both included, on the clock of UTC. */
export const spannedUnits = (unit: TimeUnit, { fromMs, toMs }: TimeSpan): number =>
  numberOf(unit, toMs) - numberOf(unit, fromMs) + 1

/** Numbers the units one after the other. */
function numberOf(unit: TimeUnit, epochMs: number): number {
  switch (unit) {
    case 'hour':
      return Math.floor(epochMs / hourMs)
    case 'day':
      return Math.floor(epochMs / dayMs)
    case 'month': {
      const date = new Date(epochMs)
      return date.getUTCFullYear() * 12 + date.getUTCMonth()
    }
  }
}

/** Whether any row of a team's list matches one of the filters, or any deletion is selected. Rejects with `ElasticsearchUnavailable`. */
export async function hasMatches(
  client: SearchClient,
  kind: EntityType,
  teamId: TeamId,
  { filters, deletions }: Pick<ExportContent, 'filters' | 'deletions'>,
  signal: AbortSignal,
): Promise<boolean> {
  const queries = filters.map((filter) => ofTeam(teamId, filter))
  if (deletions !== undefined) queries.push(deletedOfTeam(teamId, deletions))
  for (const query of queries) {
    if (totalOf(await searchTeam(client, kind, teamId, { query, ...anyAtAll }, signal)) > 0) return true
  }
  return false
}

import { z } from 'zod'
import { answerBeginning, answerField, maxValueCharacters } from '../../core/model/answers.ts'
import { meanOfParts, scoreParts, tooLargeScore } from '../../core/model/score.ts'
import { type ApiError, apiError } from '../errors.ts'
import { countOnly, type Filter, ofTeam, scoreField, type TimeSpan } from './clauses.ts'
import { aggregationsIn, type SearchAnswer, type SearchBody, searchTeam, totalOf } from './hits.ts'
import { AnswerTooLong, ElasticsearchUnavailable, InvalidSearch, type SearchedList } from './searchClient.ts'

export const timeUnits = ['hour', 'day', 'month'] as const
export type TimeUnit = (typeof timeUnits)[number]

export type Grouping =
  | { readonly kind: 'units'; readonly unit: TimeUnit }
  | { readonly kind: 'values'; readonly value: CountedValue }
  | { readonly kind: 'values-of-units'; readonly unit: TimeUnit; readonly value: CountedValue }

export interface CountRequest {
  readonly list: SearchedList
  readonly filter: Filter
  readonly grouping: Grouping
  /** The latest creation time (epoch ms) that `filter` matches; infinite without the parameter `until`. */
  readonly untilMs: number
  readonly signal: AbortSignal
  /** Of Elasticsearch's answer; the API's is never longer. */
  readonly maxBytes: number
  /** The parameter, for error messages. */
  readonly by: string
  readonly timeZone: string
  readonly hasScores: boolean
}

export type CountedValue = {
  readonly terms: object
  /** Matches submissions without a value. Undefined if there are none, or `terms` counts them, too. */
  readonly none?: object
  /** For answers: the text before the value in each term. */
  readonly beginning?: string
}

export const everyValueOf = (field: string): CountedValue => ({ terms: { field } })

/** The option `missing` is twice as fast as one more aggregation. */
export const anyValueOf = (field: string): CountedValue => ({ terms: { field, missing: missingValue } })

/** The term of submissions without a value. It is twice as long as any value, and sorts last among equally frequent ones. */
const missingValue = '\u{10ffff}'.repeat(maxValueCharacters)

/**
 * The answers to a form field. A term is the code with its length, then the value: `2.q1yes`. `map` avoids global ordinals of all answers, which
 * Elasticsearch would build again after each refresh.
 */
export function answersTo(code: string): CountedValue {
  const field = answerField(code)
  const beginning = answerBeginning(code)
  // For Lucene: `2\.q1.*`.
  const include = `${beginning.replace(/[^a-z0-9]/giu, '\\$&')}.*`
  const none = { bool: { must_not: [{ prefix: { [field]: beginning } }] } }
  return { terms: { field, execution_hint: 'map', include }, none, beginning }
}

/** Null: submissions without a value. */
type Value = string | null

/** `min`, `max` and `mean` are null without scores; `mean` also if one is too large (`tooLargeScore`). */
interface Figures {
  readonly count: number
  readonly scores?: {
    readonly count: number
    readonly min: number | null
    readonly max: number | null
    readonly mean: number | null
  }
}

/** `key`: the start of a unit (`2026-03-29T03:00:00.000+02:00`), a value, or both. */
type Item = Figures & { readonly key: Value | readonly [unitStart: string, value: Value] }
export interface Counts {
  readonly totalDocs: number
  readonly items: readonly Item[]
}

export const maxCounts = 10_000
const mebibyte = 1024 * 1024
/** Enough for nearly all counts. */
export const usualBytes = 4 * mebibyte
/** Enough for `maxCounts` texts of 256 characters, each with scores. */
export const mostBytes = 16 * mebibyte
/** The number of units in another time zone differs from that in UTC by less than this. */
const spareUnits = 10
const keyFormat = "uuuu-MM-dd'T'HH:mm:ss.SSSxxx"

const edgeSchema = z.object({ value: z.number().nullable() })
const spanSchema = z.object({ oldest: edgeSchema, newest: edgeSchema })
const sumSchema = z.object({ value: z.number() }).optional()
const figuresSchema = z.object({
  doc_count: z.int(),
  scores: z.object({ count: z.int(), min: z.number().nullable(), max: z.number().nullable() }).optional(),
  // The sums of a score's five parts (`scoreParts`), which are exact.
  '0': sumSchema,
  '1': sumSchema,
  '2': sumSchema,
  '3': sumSchema,
  '4': sumSchema,
})
const valuesSchema = z.object({
  items: z.object({
    // Exact, because all documents of a team are in one shard.
    doc_count_error_upper_bound: z.literal(0),
    sum_other_doc_count: z.int(),
    buckets: z.array(figuresSchema.extend({ key: z.string() })),
  }),
  none: figuresSchema.optional(),
})
const unitSchema = figuresSchema.extend({ key_as_string: z.string() })
const unitsSchema = z.object({ items: z.object({ buckets: z.array(unitSchema) }) })
const valuesOfUnitsSchema = z.object({
  items: z.object({ buckets: z.array(unitSchema.extend(valuesSchema.shape)) }),
})

/**
 * Units are oldest first, values most frequent first. Throws 400 above `maxCounts` items or `mostBytes`. Above a smaller `maxBytes`, throws
 * `AnswerTooLong`: the caller repeats the request with `mostBytes`.
 */
export async function countSubmissions(request: CountRequest, nowMs: number): Promise<Counts> {
  try {
    return await countGroups(request, nowMs)
  } catch (error) {
    const type = error instanceof InvalidSearch ? error.type : undefined
    if (type === 'zone_rules_exception') throw apiError('bad_request', 'timeZone is not known to Elasticsearch')
    if (type === 'too_many_buckets_exception') throw tooMany(request)
    if (error instanceof AnswerTooLong && request.maxBytes >= mostBytes) throw tooMany(request, 'too long an answer')
    throw error
  }
}

async function countGroups(request: CountRequest, nowMs: number): Promise<Counts> {
  const { grouping, hasScores } = request
  switch (grouping.kind) {
    case 'units':
      return await countUnits(request, grouping.unit, nowMs)
    case 'values':
      return await countValues(request, grouping.value)
    case 'values-of-units': {
      // First without scores, which Elasticsearch would compute for up to 65,536 buckets.
      const counts = await countValuesOfUnits({ ...request, hasScores: false }, grouping.unit, grouping.value)
      return hasScores ? await countValuesOfUnits(request, grouping.unit, grouping.value) : counts
    }
  }
}

/** Also units without submissions, between others. */
async function countUnits(request: CountRequest, unit: TimeUnit, nowMs: number): Promise<Counts> {
  const countWithin = async ({ fromMs, toMs }: TimeSpan): Promise<Counts> => {
    // Elasticsearch counts only units that end before the upper bound: two of the shortest are added, more than one of the longest (a month of 31
    // days).
    const hard_bounds = { min: fromMs, max: toMs + 2 * shortestMs[unit] }
    const histogram = { ...histogramOf(unit, request), min_doc_count: 0, hard_bounds }
    const aggs = { items: { date_histogram: histogram, ...scoresWith(request) } }
    const answer = await search(request, { ...countOnly, aggs })
    const { buckets } = aggregationsIn(unitsSchema, answer).items
    const items = buckets.map((bucket) => ({ key: bucket.key_as_string, ...figuresOf(bucket) }))
    return { totalDocs: totalOf(answer), items }
  }
  // A span limits the buckets. The likely one nearly always contains all submissions.
  let counts = await countWithin(likelySpan(unit, maxCounts, nowMs, request.untilMs))
  if (sumOf(counts) < counts.totalDocs) {
    const span = await findSpan(request)
    const units = spannedUnits(unit, span)
    if (units > maxCounts + spareUnits) throw tooMany(request, ofAtMost(`about ${units}`))
    counts = await countWithin(span)
  }
  return checkSum(counts, request)
}

async function countValues(request: CountRequest, value: CountedValue): Promise<Counts> {
  const answer = await search(request, { ...countOnly, aggs: valueAggregations(request, value) })
  const items = itemsOf(aggregationsIn(valuesSchema, answer), request, value)
  return checkSum({ totalDocs: totalOf(answer), items }, request)
}

async function countValuesOfUnits(request: CountRequest, unit: TimeUnit, value: CountedValue): Promise<Counts> {
  const histogram = { ...histogramOf(unit, request), min_doc_count: 1 }
  const aggs = { items: { date_histogram: histogram, aggs: valueAggregations(request, value) } }
  const answer = await search(request, { ...countOnly, aggs })
  const items = aggregationsIn(valuesOfUnitsSchema, answer).items.buckets.flatMap((bucket) =>
    itemsOf(bucket, request, value).map((item) => ({ ...item, key: [bucket.key_as_string, item.key] as const })),
  )
  return checkSum({ totalDocs: totalOf(answer), items }, request)
}

const histogramOf = (unit: TimeUnit, { timeZone }: CountRequest) => ({
  field: 'createdAt',
  calendar_interval: unit,
  time_zone: timeZone,
  format: keyFormat,
})

const scoresWith = ({ hasScores }: CountRequest) =>
  hasScores && {
    aggs: {
      scores: { stats: { field: scoreField } },
      ...Object.fromEntries(scoreParts.map((name) => [name, { sum: { field: `scoreParts.${name}` } }])),
    },
  }

const valueAggregations = (request: CountRequest, { terms, none }: CountedValue) => {
  const order = [{ _count: 'desc' }, { _key: 'asc' }]
  return {
    items: { terms: { ...terms, size: maxCounts, order }, ...scoresWith(request) },
    ...(none && { none: { filter: none, ...scoresWith(request) } }),
  }
}

/** Submissions without a value come after values of the same frequency. */
function itemsOf({ items, none }: z.output<typeof valuesSchema>, request: CountRequest, { beginning }: CountedValue) {
  if (items.sum_other_doc_count > 0) throw tooMany(request)
  const values = items.buckets.map(({ key, ...bucket }) => ({
    key: key === missingValue ? null : key.slice(beginning?.length ?? 0),
    ...figuresOf(bucket),
  }))
  if (none === undefined || none.doc_count === 0) return values
  const rarer = values.findIndex(({ count }) => count < none.doc_count)
  return values.toSpliced(rarer === -1 ? values.length : rarer, 0, { key: null, ...figuresOf(none) })
}

function figuresOf({ doc_count: count, scores, ...sums }: z.output<typeof figuresSchema>): Figures {
  if (scores === undefined) return { count }
  const { count: scored, min, max } = scores
  const hasMean = scored > 0 && Math.max(-(min ?? 0), max ?? 0) < tooLargeScore
  const sumsOfParts = scoreParts.map((name) => sums[name]?.value ?? 0)
  return { count, scores: { count: scored, min, max, mean: hasMean ? meanOfParts(sumsOfParts, scored) : null } }
}

async function findSpan(request: CountRequest): Promise<TimeSpan> {
  const field = 'createdAt'
  // The aggregation `stats` would fail if the sum of all times is no date.
  const aggs = { oldest: { min: { field } }, newest: { max: { field } } }
  const answer = await search(request, { size: 0, track_total_hits: false, aggs })
  const { oldest, newest } = aggregationsIn(spanSchema, answer)
  return { fromMs: oldest.value ?? 0, toMs: newest.value ?? 0 }
}

const search = ({ list, filter, signal, maxBytes }: CountRequest, body: SearchBody): Promise<SearchAnswer> =>
  searchTeam(list, { ...body, query: ofTeam(list.teamId, filter) }, signal, maxBytes)

const dayMs = 86_400_000
const shortestMs: Readonly<Record<TimeUnit, number>> = { hour: 3_600_000, day: dayMs, month: 28 * dayMs }

/** It probably contains all submissions. */
export function likelySpan(unit: TimeUnit, units: number, nowMs: number, untilMs: number): TimeSpan {
  const toMs = Math.min(nowMs + dayMs, untilMs)
  return { fromMs: toMs - (units - 1) * shortestMs[unit], toMs }
}

/** Units that the span touches, in UTC. */
export const spannedUnits = (unit: TimeUnit, { fromMs, toMs }: TimeSpan): number =>
  numberOf(unit, toMs) - numberOf(unit, fromMs) + 1

function numberOf(unit: TimeUnit, epochMs: number): number {
  if (unit !== 'month') return Math.floor(epochMs / shortestMs[unit])
  const date = new Date(epochMs)
  return date.getUTCFullYear() * 12 + date.getUTCMonth()
}

const sumOf = ({ items }: Counts): number => items.reduce((sum, { count }) => sum + count, 0)

function tooMany({ by, grouping }: CountRequest, items = `more than ${maxCounts} items`): ApiError {
  const advice = `narrow since and until${grouping.kind === 'values' ? ', or choose another by' : ''}`
  return apiError('bad_request', `by=${by} makes ${items}: ${advice}`)
}

const ofAtMost = (units: string | number): string => `${units} items of at most ${maxCounts}`

/** Throws unless the counts add up to the total. For answers, the sum may be higher: a submission counts once for each element of its list. */
function checkSum(counts: Counts, request: CountRequest): Counts {
  const { length } = counts.items
  if (length > maxCounts) throw tooMany(request, ofAtMost(length))
  const { grouping } = request
  const countsAnswers = grouping.kind !== 'units' && grouping.value.beginning !== undefined
  const surplus = sumOf(counts) - counts.totalDocs
  if (surplus === 0 || (surplus > 0 && countsAnswers)) return counts
  throw new ElasticsearchUnavailable('partial', `${sumOf(counts)} of ${counts.totalDocs} are counted`)
}

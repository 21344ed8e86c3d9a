import { z } from 'zod'
import { answerBeginning, answerField, maxValueCharacters } from '../../core/model/answers.ts'
import { meanOfParts, scoreParts, tooLargeScore } from '../../core/model/score.ts'
import { type ApiError, apiError } from '../errors.ts'
import { countOnly, type Filter, ofTeam, scoreField, type TimeSpan } from './clauses.ts'
import { aggregationsIn, type SearchAnswer, type SearchBody, searchTeam, totalOf } from './hits.ts'
import { AnswerTooLong, ElasticsearchUnavailable, InvalidSearch, type SearchedList } from './searchClient.ts'

export const timeUnits = ['hour', 'day', 'month'] as const
export type TimeUnit = (typeof timeUnits)[number]

/** Which submissions are counted, and how: by unit of time, by value, or by value within each unit; by one of them at least. */
type Asked = {
  readonly list: SearchedList
  readonly filter: Filter
  /** The end of the window (epoch ms); infinite if it is open. */
  readonly untilMs: number
  readonly signal: AbortSignal
  /** Of an answer of Elasticsearch; that to the request is no longer. */
  readonly maxBytes: number
  /** What the request calls it, for messages. */
  readonly by: string
  readonly unit: TimeUnit | undefined
  readonly timeZone: string
  readonly value: CountedValue | undefined
  /** Whether the scores of each item are told. */
  readonly hasScores: boolean
}

/** What is counted by its values: the options of a `terms` aggregation, and which submissions have none of them. */
export type CountedValue = {
  readonly terms: object
  readonly none?: object
  /** How the terms of an answer begin, of which a submission may have several. */
  readonly beginning?: string
}

/** A member of every submission. */
export const everyValueOf = (field: string): CountedValue => ({ terms: { field } })

/** A member that may be missing. Elasticsearch counts that as one more value: twice as fast as with an aggregation of its own. */
export const anyValueOf = (field: string): CountedValue => ({ terms: { field, missing } })

/** Too long for a value, and sorted after every value that is as frequent. */
const missing = '\u{10ffff}'.repeat(maxValueCharacters)

/**
 * The answers with a code. Values are read one by one: after each refresh, Elasticsearch would number all those of a field anew, free text
 * included.
 */
export function answersTo(code: string): CountedValue {
  const [field, beginning] = [answerField(code), answerBeginning(code)]
  const include = `${beginning.replace(/[^a-z0-9]/giu, '\\$&')}.*`
  const none = { bool: { must_not: [{ prefix: { [field]: beginning } }] } }
  return { terms: { field, execution_hint: 'map', include }, none, beginning }
}

type Value = string | null
/** The key is the unit; the value, null for what has none; or both. */
type Item = ReturnType<typeof figuresOf> & { readonly key: Value | readonly [unit: string, value: Value] }
type Counts = { readonly totalDocs: number; readonly items: readonly Item[] }

export const maxCounts = 10_000
const mebibyte = 1024 * 1024
/** The bytes that nearly all counts need, and the most that are read: `maxCounts` texts of 256 characters, each with scores. */
export const [usualBytes, mostBytes] = [4 * mebibyte, 16 * mebibyte]
/** More than the units by which any time zone differs from UTC, with all its offsets and skipped days. */
const spareUnits = 10
/** Keys of items: the local time at the start of a unit, with its UTC offset. */
const keyFormat = "uuuu-MM-dd'T'HH:mm:ss.SSSxxx"

const edgeSchema = z.object({ value: z.number().nullable() })
const spanSchema = z.object({ oldest: edgeSchema, newest: edgeSchema })
const sumSchema = z.object({ value: z.number() }).optional()
const figuresSchema = z.object({
  doc_count: z.int(),
  scores: z.object({ count: z.int(), min: z.number().nullable(), max: z.number().nullable() }).optional(),
  ...{ '0': sumSchema, '1': sumSchema, '2': sumSchema, '3': sumSchema, '4': sumSchema },
})
const valuesSchema = z.object({
  items: z.object({
    // All documents of a team are in one shard, so the counts of its most frequent values are exact.
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
 * Counts submissions: units of time oldest first, values the most frequent first. Throws 400 for more than `maxCounts` items or `mostBytes`,
 * `AnswerTooLong` for more than a smaller `maxBytes`.
 */
export async function countSubmissions(asked: Asked, nowMs: number): Promise<Counts> {
  const { unit, value, hasScores } = asked
  try {
    if (unit === undefined) return await countByValue(asked)
    if (value === undefined) return await countByTime(asked, unit, nowMs)
    // Elasticsearch makes up to 65,536 buckets: they are counted before it is asked for their scores.
    const counts = await countByValue({ ...asked, hasScores: false })
    return hasScores ? await countByValue(asked) : counts
  } catch (error) {
    const type = error instanceof InvalidSearch ? error.type : undefined
    if (type === 'zone_rules_exception') throw apiError('bad_request', 'timeZone is not known to Elasticsearch')
    if (type === 'too_many_buckets_exception') throw tooMany(asked)
    if (error instanceof AnswerTooLong && asked.maxBytes >= mostBytes) throw tooMany(asked, 'too long an answer')
    throw error
  }
}

/** Submissions of each unit, empty ones between the first and the last included. */
async function countByTime(asked: Asked, unit: TimeUnit, nowMs: number): Promise<Counts> {
  const countWithin = async ({ fromMs, toMs }: TimeSpan): Promise<Counts> => {
    // Elasticsearch counts a unit only if it ends before the upper bound; every unit is shorter than twice the shortest.
    const hard_bounds = { min: fromMs, max: toMs + 2 * shortestMs[unit] }
    const histogram = { ...histogramOf(unit, asked), min_doc_count: 0, hard_bounds }
    const aggs = { items: { date_histogram: histogram, ...scoresWith(asked) } }
    const answer = await search(asked, { ...countOnly, aggs })
    const { buckets } = aggregationsIn(unitsSchema, answer).items
    const items = buckets.map((bucket) => ({ key: bucket.key_as_string, ...figuresOf(bucket) }))
    return { totalDocs: totalOf(answer), items }
  }
  // Bounds limit the buckets that Elasticsearch builds: first a span that probably holds all; if it does not, the real one.
  let counts = await countWithin(likelySpan(unit, maxCounts, nowMs, asked.untilMs))
  if (sumOf(counts) < counts.totalDocs) {
    const span = await findSpan(asked)
    const units = spannedUnits(unit, span)
    if (units > maxCounts + spareUnits) throw tooMany(asked, ofAtMost(`about ${units}`))
    counts = await countWithin(span)
  }
  return addUp(counts, asked)
}

/** Submissions with each value, of each unit that has any if there is a unit. */
async function countByValue(asked: Asked): Promise<Counts> {
  const { unit } = asked
  const values = valueAggregations(asked)
  const ofUnits = unit && { ...histogramOf(unit, asked), min_doc_count: 1 }
  const aggs = ofUnits === undefined ? values : { items: { date_histogram: ofUnits, aggs: values } }
  const answer = await search(asked, { ...countOnly, aggs })
  const items =
    unit === undefined
      ? itemsOf(aggregationsIn(valuesSchema, answer), asked)
      : aggregationsIn(valuesOfUnitsSchema, answer).items.buckets.flatMap((bucket) =>
          itemsOf(bucket, asked).map((item) => ({ ...item, key: [bucket.key_as_string, item.key] as const })),
        )
  return addUp({ totalDocs: totalOf(answer), items }, asked)
}

const histogramOf = (unit: TimeUnit, { timeZone }: Asked) => ({
  ...{ field: 'createdAt', calendar_interval: unit, time_zone: timeZone, format: keyFormat },
})

const scoresWith = ({ hasScores }: Asked) =>
  hasScores && {
    aggs: {
      scores: { stats: { field: scoreField } },
      ...Object.fromEntries(scoreParts.map((name) => [name, { sum: { field: `scoreParts.${name}` } }])),
    },
  }

const valueAggregations = (asked: Asked) => {
  const { terms, none } = asked.value ?? {}
  const order = [{ _count: 'desc' }, { _key: 'asc' }]
  return {
    items: { terms: { ...terms, size: maxCounts, order }, ...scoresWith(asked) },
    ...(none && { none: { filter: none, ...scoresWith(asked) } }),
  }
}

/** The items of values, that of none after those that are as frequent. Throws 400 if there are more. */
function itemsOf({ items, none }: z.output<typeof valuesSchema>, asked: Asked) {
  if (items.sum_other_doc_count > 0) throw tooMany(asked)
  const skipped = asked.value?.beginning?.length ?? 0
  const found = items.buckets.map(({ key, ...bucket }) => ({
    key: key === missing ? null : key.slice(skipped),
    ...figuresOf(bucket),
  }))
  if (none === undefined || none.doc_count === 0) return found
  const rarer = found.findIndex(({ count }) => count < none.doc_count)
  return found.toSpliced(rarer === -1 ? found.length : rarer, 0, { key: null, ...figuresOf(none) })
}

/** The count of a bucket, and the scores of the submissions that have one; no mean where none has, or one is too large. */
function figuresOf({ doc_count: count, scores, ...sums }: z.output<typeof figuresSchema>) {
  if (scores === undefined) return { count }
  const { count: scored, min, max } = scores
  const hasMean = scored > 0 && Math.max(-(min ?? 0), max ?? 0) < tooLargeScore
  const parts = scoreParts.map((name) => sums[name]?.value ?? 0)
  return { count, scores: { count: scored, min, max, mean: hasMean ? meanOfParts(parts, scored) : null } }
}

/** The span from the oldest to the newest submission; a moment in 1970 if there is none. */
async function findSpan(asked: Asked): Promise<TimeSpan> {
  const field = 'createdAt'
  // `stats` would fail where it cannot print the sum of all times as a date.
  const aggs = { oldest: { min: { field } }, newest: { max: { field } } }
  const answer = await search(asked, { size: 0, track_total_hits: false, aggs })
  const { oldest, newest } = aggregationsIn(spanSchema, answer)
  return { fromMs: oldest.value ?? 0, toMs: newest.value ?? 0 }
}

const search = ({ list, filter, signal, maxBytes }: Asked, body: SearchBody): Promise<SearchAnswer> =>
  searchTeam(list, { ...body, query: ofTeam(list.teamId, filter) }, signal, maxBytes)

const dayMs = 86_400_000
const shortestMs: Readonly<Record<TimeUnit, number>> = { hour: 3_600_000, day: dayMs, month: 28 * dayMs }

/** The last `units` units, or fewer, until tomorrow or the end of the window: a span that probably holds all submissions. */
export function likelySpan(unit: TimeUnit, units: number, nowMs: number, untilMs: number): TimeSpan {
  const toMs = Math.min(nowMs + dayMs, untilMs)
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

const sumOf = ({ items }: Counts): number => items.reduce((sum, { count }) => sum + count, 0)

function tooMany({ by, unit }: Asked, items = `more than ${maxCounts} items`): ApiError {
  const advice = `narrow since and until${unit === undefined ? ', or choose another' : ''}`
  return apiError('bad_request', `by=${by} makes ${items}: ${advice}`)
}

const ofAtMost = (units: string | number): string => `${units} items of at most ${maxCounts}`

/** Throws 400 for too many, `ElasticsearchUnavailable` unless every submission is counted in one item, or in several of a list. */
function addUp(counts: Counts, asked: Asked): Counts {
  const { length } = counts.items
  if (length > maxCounts) throw tooMany(asked, ofAtMost(length))
  const more = sumOf(counts) - counts.totalDocs
  if (more === 0 || (more > 0 && asked.value?.beginning !== undefined)) return counts
  throw new ElasticsearchUnavailable('partial', `${sumOf(counts)} of ${counts.totalDocs} are counted`)
}

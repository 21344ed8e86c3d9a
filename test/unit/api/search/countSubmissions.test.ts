import fc from 'fast-check'
import { utc } from '../../../../src/api/parameters.ts'
import {
  anyValueOf,
  type CountedValue,
  type CountRequest,
  countSubmissions,
  everyValueOf,
  type Grouping,
  likelySpan,
  maxCounts,
  mostBytes,
  spannedUnits,
  timeUnits,
} from '../../../../src/api/search/counts.ts'
import { AnswerTooLong, InvalidSearch } from '../../../../src/api/search/searchClient.ts'
import { askedList, searchAnswer } from '../../../support/askedList.ts'

const { signal } = new AbortController()
const dayMs = 86_400_000

/** Gives each answer once, in order; an answer is the total and the aggregations, or an error. */
function answering(...answers: readonly ([total: number | undefined, aggregations: unknown] | Error | 'missing')[]) {
  const { list, asked } = askedList(() => {
    const answer = answers[asked.length - 1]
    if (answer instanceof Error) throw answer
    if (answer === undefined || answer === 'missing') return { isFound: false, text: '{}' }
    const [value, aggregations] = answer
    const total = value !== undefined && { total: { value, relation: 'eq' } }
    return searchAnswer({ ...total, hits: [] }, { aggregations })
  }, 'submissions')
  return { selection: { list, filter: [], untilMs: Number.POSITIVE_INFINITY, signal, maxBytes: mostBytes }, asked }
}

const span = (fromMs: number | null, toMs: number | null): [undefined, unknown] => [
  undefined,
  { oldest: { value: fromMs }, newest: { value: toMs } },
]
const times = (total: number, ...counts: readonly number[]): [number, unknown] => [
  total,
  { items: { buckets: counts.map((doc_count, at) => ({ key_as_string: `k${at}`, key: at, doc_count })) } },
]
const values = (total: number, others: number, error: number, ...counts: readonly number[]): [number, unknown] => {
  const buckets = counts.map((doc_count, at) => ({ key: `k${at}`, doc_count }))
  return [total, { items: { doc_count_error_upper_bound: error, sum_other_doc_count: others, buckets } }]
}

type Asking = ReturnType<typeof answering>['selection']

const inUtc = { timeZone: utc, hasScores: false }
const [byForm, byLevel] = [everyValueOf('formId'), anyValueOf('level')]
const days = { kind: 'units', unit: 'day' } as const
const valuesOf = (value: CountedValue) => ({ kind: 'values', value }) as const
const count = (selection: Asking, grouping: Grouping, options: Partial<CountRequest> = {}) =>
  countSubmissions({ ...selection, ...inUtc, by: 'this', grouping, ...options }, 20_000 * dayMs)
const countDays = (selection: Asking) => count(selection, days, { by: 'day' })
/** Of so many, none is within the likely span. */
const outside = (total: number): [number, unknown] => times(total)
const invalid = (type: string): InvalidSearch => new InvalidSearch(`400 ${type}`, type)
const partial = { name: 'ElasticsearchUnavailable', reason: 'partial' }

test('an answer that is too long is refused, or requested again with more room', async () => {
  const tooLong = new AnswerTooLong()
  const { selection } = answering(tooLong)
  const message = 'by=this makes too long an answer: narrow since and until, or choose another by'
  await expect(count(selection, valuesOf(byForm))).rejects.toMatchObject({ status: 400, message })
  const { selection: again } = answering(tooLong)
  await expect(count({ ...again, maxBytes: 1 }, valuesOf(byForm))).rejects.toBe(tooLong)
})

describe('counts by time', () => {
  test('take one search if all submissions are within the expected range', async () => {
    const { selection, asked } = answering(times(3, 1, 0, 2))
    const items = [1, 0, 2].map((count, at) => ({ key: `k${at}`, count }))
    expect(await countDays(selection)).toEqual({ totalDocs: 3, items })
    const querystring = { routing: 'team-1', allow_partial_search_results: false }
    expect(asked).toMatchObject([{ path: '/tidemark-submissions/_search', querystring }])
  })

  test('take one search if the requested window lies in the past', async () => {
    const { selection, asked } = answering(times(3, 1, 0, 2))
    await countDays({ ...selection, untilMs: 5_000 * dayMs })
    const { min, max } = JSON.parse(JSON.stringify(asked[0]?.body)).aggs.items.date_histogram.hard_bounds
    expect([min, max].map((bound) => bound / dayMs)).toEqual([5_000 - maxCounts + 1, 5_002])
  })

  test('are refused if their range alone makes too many, before Elasticsearch makes them', async () => {
    const { selection, asked } = answering(outside(1), span(0, 20_000 * dayMs))
    const message = 'by=day makes about 20001 items of at most 10000: narrow since and until'
    await expect(countDays(selection)).rejects.toMatchObject({ status: 400, message })
    expect(asked).toHaveLength(2)
    const { min, max } = JSON.parse(JSON.stringify(asked[0]?.body)).aggs.items.date_histogram.hard_bounds
    expect((max - min) / dayMs).toBeLessThanOrEqual(maxCounts + 1)
  })

  test('in a time zone that Elasticsearch does not know are refused', async () => {
    const { selection } = answering(invalid('zone_rules_exception'))
    await expect(countDays(selection)).rejects.toMatchObject({
      status: 400,
      message: expect.stringMatching(/^timeZone /),
    })
  })

  test('fail with any other error of Elasticsearch', async () => {
    const bug = invalid('parsing_exception')
    await expect(countDays(answering(bug).selection)).rejects.toBe(bug)
    const missing = countDays(answering('missing').selection)
    await expect(missing).rejects.toMatchObject({ reason: 'missing-index' })
    // One has come between the searches, far away from all others.
    const answers = [outside(3), span(0, dayMs), times(4, 1, 2)]
    await expect(countDays(answering(...answers).selection)).rejects.toMatchObject(partial)
    for (const aggregations of [{}, { items: { buckets: [{ doc_count: 3 }] } }])
      await expect(countDays(answering([3, aggregations]).selection)).rejects.toMatchObject(partial)
  })
})

describe('counts by value', () => {
  test('are refused if there are too many', async () => {
    const { selection } = answering(values(4, 1, 0, 2, 1))
    const message = 'by=form makes more than 10000 items: narrow since and until, or choose another by'
    await expect(count(selection, valuesOf(byForm), { by: 'form' })).rejects.toMatchObject({ status: 400, message })
  })

  test('are never approximate', async () => {
    for (const inexact of [values(3, 0, 1, 2, 1), values(4, 0, 0, 2, 1)])
      await expect(count(answering(inexact).selection, valuesOf(byForm))).rejects.toMatchObject(partial)
  })
})

describe('counts by time and value', () => {
  const both = { kind: 'values-of-units', unit: 'day', value: byLevel } as const
  const by = 'day,level'
  const pairs = (total: number, ...sizes: readonly number[]): [number, unknown] => {
    const buckets = sizes.map((size, at) => {
      const [, aggregations] = values(size, 0, 0, ...Array.from({ length: size }, () => 1))
      return { key_as_string: `k${at}`, key: at, doc_count: size, ...(aggregations as object), none: { doc_count: 0 } }
    })
    return [total, { items: { buckets } }]
  }

  test('are complete, or refused with their number if there are too many', async () => {
    const most = await count(answering(pairs(maxCounts, maxCounts - 1, 1)).selection, both, { by })
    expect(most.items.at(-1)).toEqual({ key: ['k1', 'k0'], count: 1 })
    const message = 'by=day,level makes 10001 items of at most 10000: narrow since and until'
    const { selection, asked } = answering(pairs(maxCounts + 1, maxCounts, 1))
    await expect(count(selection, both, { by, hasScores: true })).rejects.toMatchObject({ status: 400, message })
    expect(JSON.stringify(asked)).not.toContain('score')
  })

  test('are refused if Elasticsearch would need more buckets than it allows', async () => {
    const { selection } = answering(invalid('too_many_buckets_exception'))
    await expect(count(selection, both, { by })).rejects.toThrow('by=day,level makes more than 10000 items')
  })
})

test('the expected range has at most as many units as there may be counts', () => {
  const moment = fc.date({ min: new Date('1800-01-01'), max: new Date('2400-01-01'), noInvalidDate: true })
  fc.assert(
    fc.property(moment, fc.constantFrom(...timeUnits), (now, unit) => {
      const units = spannedUnits(unit, likelySpan(unit, 1_000, now.getTime(), Number.POSITIVE_INFINITY))
      expect(units).toBeLessThanOrEqual(1_000)
      expect(units).toBeGreaterThan(900)
    }),
  )
})

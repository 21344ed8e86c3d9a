import { countOnly, ofTeam, scoreField, windowClauses } from '../../../src/api/search/clauses.ts'
import { answersTo, anyValueOf, type CountedValue, everyValueOf } from '../../../src/api/search/counts.ts'
import type { TeamId } from '../../../src/core/model/ids.ts'
import { type Instant, toInstant } from '../../../src/core/model/instant.ts'
import { type Asker, type Comparison, sideBySide } from '../comparison.ts'
import { apiRequest } from '../http.ts'
import type { HttpRequest, Pace } from '../load.ts'
import type { Stage } from '../stage.ts'
import { newestMs } from '../submissions.ts'
import type { Answered } from './filters.ts'
import { type Lists, searchRequest } from './lists.ts'

/** Parameters of the API, with a window of the last `days` if given, and the same aggregation for Elasticsearch. */
type Counted = {
  readonly by: string
  readonly days?: number
  readonly parameters?: Readonly<Record<string, string>>
  readonly aggregation: object
}

const pace: Pace = { connections: 1, leadIn: 5, maxRequests: 50, maxMs: 3_000 }
const dayMs = 86_400_000
/** Nearly all days with submissions. */
const allDays = 299
let sincesAsked = 0

const byTime = (unit: string) => ({
  by: unit,
  aggregation: { date_histogram: { field: 'createdAt', calendar_interval: unit, min_doc_count: 0 } },
})
const byValue = (by: string, { terms }: CountedValue) => ({ by, aggregation: { terms: { ...terms, size: 10_000 } } })
const byLevel = byValue('level', anyValueOf('summary.result.level'))

const countedWith = (code: string): readonly Counted[] => [
  byTime('month'),
  byTime('day'),
  { ...byTime('hour'), days: 30 },
  byTime('hour'),
  byValue('status', everyValueOf('status')),
  byValue('form', everyValueOf('formId')),
  byLevel,
  { ...byLevel, parameters: { scores: 'true' }, aggregation: { ...byLevel.aggregation, ...withScores } },
  { by: 'day,level', aggregation: { ...byTime('day').aggregation, aggs: { values: byLevel.aggregation } } },
  { ...byValue('answer', answersTo(code)), parameters: { code } },
]

const withScores = { aggs: { scores: { stats: { field: scoreField } } } }

/**
 * Each window starts at another time, within the submissions. Elasticsearch would drop a bound beyond all of them from the query, and answer from its
 * request cache.
 */
export function compareCounts(lists: Lists, { answer: [code] }: Answered, stage: Stage): Comparison {
  const { accountKey, apiOrigin, elasticsearchOrigin } = lists
  const until = toInstant(newestMs)
  const askers = countedWith(code).flatMap(({ by, days = allDays, parameters = {}, aggregation }): Asker[] => {
    const name = `by ${by}${days === allDays ? '' : `, ${days} days`}${'scores' in parameters ? ', with scores' : ''}`
    const sinceNeverAsked = (): Instant => toInstant(newestMs - days * dayMs + sincesAsked++)
    const viaApi = (): HttpRequest =>
      apiRequest(accountKey, 'record-counts', { by, ...parameters, since: sinceNeverAsked(), until })
    const direct = (): HttpRequest => {
      const query = ofTeam(lists.teamId as TeamId, windowClauses('createdAt', sinceNeverAsked(), until))
      return searchRequest(lists, { ...countOnly, query, aggs: { items: aggregation } })
    }
    return [
      { label: `Elasticsearch, ${name}`, origin: elasticsearchOrigin, requestsOf: () => [direct] },
      {
        label: `API, ${name}`,
        origin: apiOrigin,
        requestsOf: () => [viaApi],
        to: { label: 'direct', of: `Elasticsearch, ${name}`, goal: { atMost: 1.5 } },
      },
    ]
  })
  return sideBySide('Counts against Elasticsearch asked directly, another `since` each time', pace, askers, stage)
}

import { countOnly, ofTeam, windowClauses } from '../../../src/api/search/clauses.ts'
import type { TeamId } from '../../../src/core/model/ids.ts'
import { toInstant } from '../../../src/core/model/instant.ts'
import { type Asker, type Comparison, sideBySide } from '../comparison.ts'
import { apiRequest } from '../http.ts'
import type { HttpRequest, Pace } from '../load.ts'
import type { Stage } from '../stage.ts'
import { newestMs } from '../submissions.ts'
import { type Lists, untilNeverAsked } from './lists.ts'

/** What is counted: submissions of each `by`, of the last `days` if given, with the same aggregation for Elasticsearch. */
type Counted = { readonly by: string; readonly days?: number; readonly aggregation: object }

const pace: Pace = { connections: 1, leadIn: 5, maxRequests: 50, maxMs: 3_000 }
const dayMs = 86_400_000

const byTime = (unit: string) => ({
  by: unit,
  aggregation: { date_histogram: { field: 'createdAt', calendar_interval: unit, min_doc_count: 0 } },
})
const byValue = (by: string, field: string) => ({ by, aggregation: { terms: { field, size: 10_000 } } })

const counted: readonly Counted[] = [
  byTime('month'),
  byTime('day'),
  { ...byTime('hour'), days: 30 },
  byTime('hour'),
  byValue('status', 'status'),
  byValue('form', 'formId'),
]

/** Counts of the API beside the same aggregation of Elasticsearch; the window is another one each time, so that no cache knows the answer. */
export function compareCounts(lists: Lists, stage: Stage): Comparison {
  const { accountKey, apiOrigin, elasticsearchOrigin } = lists
  const askers = counted.flatMap(({ by, days, aggregation }): Asker[] => {
    const name = `by ${by}${days === undefined ? '' : `, ${days} days`}`
    const since = days === undefined ? undefined : toInstant(newestMs - days * dayMs)
    const asked = (): HttpRequest =>
      apiRequest(accountKey, 'record-counts', { by, until: untilNeverAsked(), ...(since && { since }) })
    const direct = (): HttpRequest => {
      const query = ofTeam(lists.teamId as TeamId, windowClauses('createdAt', since, untilNeverAsked()))
      return {
        method: 'POST',
        path: `/${lists.index}/_search?routing=${lists.teamId}`,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...countOnly, query, aggs: { items: aggregation } }),
        expectedStatus: 200,
      }
    }
    return [
      { label: `Elasticsearch, ${name}`, origin: elasticsearchOrigin, requestsOf: () => [direct] },
      {
        label: `API, ${name}`,
        origin: apiOrigin,
        requestsOf: () => [asked],
        to: { label: 'direct', of: `Elasticsearch, ${name}`, goal: { atMost: 1.5 } },
      },
    ]
  })
  return sideBySide('Counts against Elasticsearch asked directly, another `until` each time', pace, askers, stage)
}

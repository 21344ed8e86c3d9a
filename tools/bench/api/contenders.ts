import { seededRandom } from '../../demo/random.ts'
import type { Sample } from '../load/generator.ts'
import type { Pace, SqlAddress, Target } from '../load/job.ts'
import { loadContender, type Measuring as Measurement } from '../measuring.ts'
import type { Contender } from '../rounds.ts'
import { bareRequest } from './bareReader.ts'
import { type FilterName, type ListQuestion, listRequest, rawRequests } from './lists.ts'
import type { ServedReplica } from './replica.ts'
import { pageByIndexQueries, pageQueries } from './sqlTable.ts'
import { largeTeamSubmissions } from './submissions.ts'

export type Measuring = Measurement & Pick<ServedReplica, 'origin' | 'accountKey'> & { readonly bareOrigin: string }

/** One question after the other, over one connection. A slow contender is not asked as often. */
export const calm: Pace = { atOnce: 1, leadInTurns: 10, maxTurns: 300, maxMs: 2_000 }
export const crowded: Pace = { atOnce: 16, leadInTurns: 100, maxTurns: Number.POSITIVE_INFINITY, maxMs: 2_000 }
/** From here on a walk leads. */
const deepFromOffset = 20_000

const apiTarget = ({ origin, accountKey }: Measuring, questions: readonly ListQuestion[], etag?: string): Target => ({
  kind: 'http',
  origin,
  turns: questions.map((question) => [listRequest(question, accountKey, etag)]),
})

/** The same list of the API again and again. */
export function apiList(
  name: string,
  measuring: Measuring,
  pace: Pace,
  question: Partial<ListQuestion>,
): Contender<Sample> {
  const target = apiTarget(measuring, [{ limit: 20, page: 1, filter: 'none', ...question }])
  return loadContender(name, measuring, pace, () => target)
}

/** Whether a list still is what its ETag stands for: it is. */
export function apiUnchanged(name: string, measuring: Measuring, limit: number, etag: string): Contender<Sample> {
  const target = apiTarget(measuring, [{ limit, page: 1, filter: 'none' }], etag)
  return loadContender(name, measuring, crowded, () => target)
}

/** Deep pages in no order, none of them twice. */
export function apiWalk(name: string, measuring: Measuring, limit: number): Contender<Sample> {
  const last = largeTeamSubmissions / limit
  const first = deepFromOffset / limit + 1
  const pages = seededRandom(name).shuffled(Array.from({ length: last - first + 1 }, (_, index) => first + index))
  const each = calm.leadInTurns + calm.maxTurns
  return loadContender(name, measuring, calm, (round) =>
    apiTarget(
      measuring,
      pages.slice(round * each, (round + 1) * each).map((page) => ({ limit, page, filter: 'none' })),
    ),
  )
}

/** Elasticsearch asked directly for what the API asks it for. */
export function rawList(
  name: string,
  measuring: Measuring,
  pace: Pace,
  { limit = 20, filter = 'none' }: { limit?: number; filter?: FilterName },
): Contender<Sample> {
  const { config, urls } = measuring.stage
  const turns = [rawRequests(config.INDEX_PREFIX, limit, filter)]
  return loadContender(name, measuring, pace, () => ({ kind: 'http', origin: urls.ELASTICSEARCH_URL, turns }))
}

/** The least that a process in between can be, asked for what the API is asked. */
export function bareList(name: string, measuring: Measuring, pace: Pace, limit: number): Contender<Sample> {
  const target: Target = { kind: 'http', origin: measuring.bareOrigin, turns: [[bareRequest(limit)]] }
  return loadContender(name, measuring, pace, () => target)
}

/** A page of the table in PostgreSQL. */
export function sqlPage(
  name: string,
  measuring: Measuring,
  address: SqlAddress,
  { page, isByIndex = false }: { page: number; isByIndex?: boolean },
): Contender<Sample> {
  const turns = [isByIndex ? pageByIndexQueries(page, 20) : pageQueries(page, 20)]
  return loadContender(name, measuring, calm, () => ({ kind: 'postgres', address, turns }))
}

import type { HttpRequest } from '../../load/job.ts'
import type { Stage } from '../../stage.ts'
import { bareName, bareRequest } from '../bareReader.ts'
import { listRequest, rawRequests } from '../lists.ts'
import type { ServedReplica } from '../replica.ts'
import type { Probe } from './job.ts'
import type { PollingTeam } from './script.ts'

/** What is asked beside the load; each again and again, so that it can be held against another one. */
export const probeNames = {
  raw20: 'Elasticsearch, large team, limit=20',
  bare20: `${bareName}, large team, limit=20`,
  api20: 'API, large team, limit=20',
  raw100: 'Elasticsearch, large team, limit=100',
  bare100: `${bareName}, large team, limit=100`,
  api100: 'API, large team, limit=100',
  deep: 'API, large team, page 10,000, limit=20',
  rawSmall: 'Elasticsearch, team of 300, limit=20',
  apiSmall: 'API, team of 300, limit=20',
} as const

/** `team` is the one of them that is asked about beside the large one. */
export function probesFor(
  replica: ServedReplica,
  bareOrigin: string,
  team: PollingTeam,
  { config, urls }: Stage,
): Probe[] {
  const raw = (name: keyof typeof probeNames, limit: number, teamId?: string): Probe => ({
    name: probeNames[name],
    origin: urls.ELASTICSEARCH_URL,
    requests: rawRequests(config.INDEX_PREFIX, limit, 'none', teamId),
  })
  const one = (name: keyof typeof probeNames, origin: string, request: HttpRequest): Probe => ({
    name: probeNames[name],
    origin,
    requests: [request],
  })
  const bare = (name: keyof typeof probeNames, limit: number): Probe => one(name, bareOrigin, bareRequest(limit))
  const api = (name: keyof typeof probeNames, request: HttpRequest): Probe => one(name, replica.origin, request)
  const list = (limit: number, page: number, accountKey = replica.accountKey): HttpRequest =>
    listRequest({ limit, page, filter: 'none' }, accountKey)
  return [
    raw('raw20', 20),
    bare('bare20', 20),
    api('api20', list(20, 1)),
    raw('raw100', 100),
    bare('bare100', 100),
    api('api100', list(100, 1)),
    api('deep', list(20, 10_000)),
    raw('rawSmall', 20, team.id),
    api('apiSmall', list(20, 1, team.accountKey)),
  ]
}

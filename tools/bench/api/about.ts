import { rounds } from '../measuring.ts'
import { withoutPostgres } from '../postgres.ts'
import { calm, crowded } from './contenders.ts'
import { idleSize } from './idle/size.ts'
import { conditionalShare, pollKinds } from './mixed/script.ts'
import { mixedSize } from './mixed/size.ts'
import { allSubmissions, createSubmissions, largeTeamSubmissions, windowDays } from './submissions.ts'

const sampled = 1_000

/** What to know when reading the figures; `lacking` says why there are none of idle connections. */
export const about = (hasPostgres: boolean, lacking: string | undefined): string[] => [
  `One team with ${count(largeTeamSubmissions)} submissions from ${windowDays} days, ${count(allSubmissions)} with those of all other teams; a record has ${averageBytes()} bytes on average. They came through Kafka and the indexer, which goes on running.`,
  `Each round runs every contender once and begins with another one; ${rounds.warmUps} to warm up, ${rounds.measured} measured. Figures are the median of the rounds (lowest–highest). A ratio is taken within each round: of median latencies, or of answers a second.`,
  `Latency: one request after the other over one kept connection, ${calm.maxTurns} a round, or what fits into ${calm.maxMs / 1_000} s. Throughput: ${crowded.atOnce} at once over as many kept connections for ${crowded.maxMs / 1_000} s.`,
  'The load generator is a thread of its own (undici), on the same machine: client, API and engines share its cores. "client busy" is the highest share of a round in which that thread was at work: near 100 % the client was measured.',
  'Elasticsearch: the load generator sends it the query of the API itself, over HTTP: one `_search` that does not count, and at the same time a `_count`; an answer is both. It goes one way, where the API has two: client to API, API to Elasticsearch. Nobody parses an answer, and none is compressed.',
  'A bare process in between: `node:http`, ioredis and undici. It asks Redis four things at once, then Elasticsearch for the page and the total in one request, and passes on what comes. It checks nothing and tells nothing of itself: the least that a way over another process costs, and no API.',
  'A random deep page begins at row 20,000 or later, and is asked once only.',
  hasPostgres
    ? 'PostgreSQL: the same summaries in one table with the primary key (team_id, id) and an index (team_id, created_at desc, id desc), vacuumed; prepared statements through pg; the page and the count at the same time on two connections, straight from the load generator: no API stands before it. Its ratio is to the page of the API.'
    : withoutPostgres,
  ...aboutMixed,
  lacking ?? aboutIdle,
  'Before measuring, the same pages are compared: every contender gives the same rows and the same total.',
]

const aboutMixed = [
  `Mixed load: ${mixedSize.teams} of the small teams poll, each with its own key, forms and kept connection, on a schedule with jitter that waits for no answer; ${pollKinds.length} kinds of requests, limit=20, a window from the watermark of the last answer that brought something. ${conditionalShare * 100} % of the requests name the ETag of the team's last answer from the same address; every second team takes compressed answers. Meanwhile ${mixedSize.writesPerSecond} changes a second go through Kafka and the indexer, most of them to few teams, some to the large one. Time runs from the request to the end of the answer, waiting for the own connection included; what makes the client late is told.`,
  `Mixed load, rounds: each runs every pace for ${mixedSize.measuredMs / 1_000} s after ${mixedSize.leadInMs / 1_000} s that are not counted; ${mixedSize.rounds.warmUps} to warm up, ${mixedSize.rounds.measured} measured. Beside the polling teams, the targets' own requests are sent twice a second each, one after the other, so that both sides of a ratio meet the same load. CPU time of 1,000 requests is what they add to the same round without polling. Throughput has no meaning beside a load of a given pace, and is compared at rest only.`,
]

const aboutIdle = `Idle connections: each has been answered one request (304; of the API with a key) and idles ${idleSize.settleMs / 1_000} s when resident memory is read. ${count(idleSize.warmUpRequests)} requests over 50 connections come before the first reading. Every server is a process of its own, begun anew in each of ${idleSize.rounds.measured} rounds; koa and node:http answer 304 and do nothing else, with the time-outs of the API.`

function averageBytes(): string {
  const sizes = createSubmissions()
    .past()
    .take(sampled)
    .map(({ value }) => Buffer.byteLength(value))
  return count(Math.round(sizes.reduce((sum, size) => sum + size) / sampled))
}

function count(value: number): string {
  return value.toLocaleString('en')
}

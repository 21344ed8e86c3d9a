import { rounds } from '../measuring.ts'
import { withoutPostgres } from '../postgres.ts'
import { calm, crowded } from './contenders.ts'
import { allSubmissions, createSubmissions, largeTeamSubmissions, windowDays } from './submissions.ts'

const sampled = 1_000

/** What to know when reading the figures. */
export const about = (hasPostgres: boolean): string[] => [
  `One team with ${count(largeTeamSubmissions)} submissions from ${windowDays} days, ${count(allSubmissions)} with those of all other teams; a record has ${averageBytes()} bytes on average. They came through Kafka and the indexer, which goes on running.`,
  `Each round runs every contender once and begins with another one; ${rounds.warmUps} to warm up, ${rounds.measured} measured. Figures are the median of the rounds (lowest–highest). A ratio is taken within each round: of median latencies, or of answers a second.`,
  `Latency: one request after the other over one kept connection, ${calm.maxTurns} a round, or what fits into ${calm.maxMs / 1_000} s. Throughput: ${crowded.atOnce} at once over as many kept connections for ${crowded.maxMs / 1_000} s.`,
  'The load generator is a thread of its own (undici), on the same machine: client, API and engines share its cores. "client busy" is the highest share of a round in which that thread was at work: near 100 % the client was measured.',
  'Elasticsearch: the load generator sends it the query of the API itself, over HTTP: one `_search` that does not count, and at the same time a `_count`; an answer is both. It goes one way, where the API has two: client to API, API to Elasticsearch. Nobody parses an answer, and none is compressed.',
  'A random deep page begins at row 20,000 or later, and is asked once only.',
  hasPostgres
    ? 'PostgreSQL: the same summaries in one table with the primary key (team_id, id) and an index (team_id, created_at desc, id desc), vacuumed; prepared statements through pg; the page and the count at the same time on two connections, straight from the load generator: no API stands before it. Its ratio is to the page of the API.'
    : withoutPostgres,
  'Before measuring, the same pages are compared: every contender gives the same rows and the same total.',
]

function averageBytes(): string {
  const sizes = createSubmissions()
    .past()
    .take(sampled)
    .map(({ value }) => Buffer.byteLength(value))
  return count(Math.round(sizes.reduce((sum, size) => sum + size) / sampled))
}

const count = (value: number): string => value.toLocaleString('en')

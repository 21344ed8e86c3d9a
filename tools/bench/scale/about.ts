import { crowd } from './answerCosts.ts'
import { pace } from './comparisons.ts'
import { changedDays } from './questions.ts'
import type { Size } from './size.ts'
import { fixedTeamSubmissions, largestTeamShare, windowDays } from './world.ts'

/** What to know when reading the figures. */
export const about = (size: Size): string[] => [
  `Submissions of the sample world, from ${windowDays} days. In every index a team has ${count(fixedTeamSubmissions)} of them and the largest one ${largestTeamShare * 100} %; the others share the rest evenly. They were stored by bulk as an indexer stores them; details, and a form for every 100 submissions, in the indices of up to ${count(size.mostWithDetails)} submissions. The reports are made of the same phrases again and again: those of people compress less.`,
  `All indices are merged to one segment a shard, stand side by side in one Elasticsearch with a heap of 1 GiB, and fit into the page cache. Each has an API of its own; no indexer runs while they are read.`,
  `Latency: one request after the other over one kept connection, ${pace.maxTurns} a round, or what fits into ${pace.maxMs / 1_000} s; limit=20. A window is what changed in the last ${changedDays} days. Deep pages begin at row 1,000 or later, in no order.`,
  `Each round runs every contender once and begins with another one; ${size.rounds.warmUps} to warm up, ${size.rounds.measured} measured. Figures are the median of the rounds (lowest–highest). A ratio is taken within each round, of median latencies.`,
  'Heap: used after a full collection, after an index was filled less before it was made; it holds all four indices. Whatever else was let go meanwhile makes it smaller, even negative. The server tells of no other memory of its segments.',
  'By shards: what is stored is made beforehand, and sent in six parts, of which the first is not counted. The indices were filled one after the other.',
  `CPU time: of the API's process and of Elasticsearch's, ${crowd.atOnce} requests at once for ${crowd.maxMs / 1_000} s, for the team of ${count(fixedTeamSubmissions)} in the largest index; ${size.costRounds.measured} rounds.`,
  `Indexer: ${count(size.indexedRecords)} records that are in Kafka already, ${size.costRounds.measured} times in each setting, each time into new indices; counted once a quarter is settled. Elasticsearch's CPU time and the memory are those of the whole run.`,
  `Redis: how much it grows by ${count(size.redisTeams)} teams of one key each.`,
  'The load generator is a thread of its own (undici), on the same machine: client, API, indexer and engines share its cores.',
]

const count = (value: number): string => value.toLocaleString('en')

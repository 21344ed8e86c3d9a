import { number } from '../table.ts'
import type { Trials } from './ceiling.ts'
import { names } from './contenders.ts'
import { type Feed, partitions } from './feed.ts'
import { probes } from './freshness.ts'
import { pollMs, seenDeadlineMs } from './listReader.ts'
import { stretch } from './sections.ts'
import type { Size } from './size.ts'
import { teams } from './submissions.ts'

/** What to know when reading the figures. */
export const about = (size: Size, { valueBytes }: Feed, trials: Trials): string[] => [
  `${count(size.records)} submissions of ${count(teams)} teams of uneven size, ${count(Math.round(valueBytes))} bytes of JSON each on average, in ${partitions} partitions of a topic before the first contender starts. Their texts are made of the same phrases again and again.`,
  `A run is timed from the start of the contender’s process until Elasticsearch’s _count, asked every 0.1 s, finds every submission: for the indexer and the ready-made bulk in both indices. Every run has indices and a consumer group of its own; a run that ends with another number of documents fails the bench. One shard an index.`,
  `Each round runs every contender once and begins with another one; ${size.rounds.warmUps} to warm up, with ${count(size.fewestRecords)} records, ${size.rounds.measured} measured. Figures are the median of the rounds (lowest–highest). A ratio is taken within each round.`,
  `${names.ceiling}, the ceiling: the very documents that the indexer stores, rendered beforehand as bodies of at most 5 MiB and read from disk by a process that does nothing but send them with the same client, ${trials.best} at once, and refresh. Tried before with ${count(size.fewerRecords)} records: ${[...trials.perSecond].map(([atOnce, perSecond]) => `${atOnce} at once ${number(perSecond)} records/s`).join(', ')}.`,
  `${names.indexer}: the process of this project in its default configuration: it judges every field, stores two documents under external versions, makes its indices itself, and publishes change tokens, offsets and watermark as it goes. What it has to reach of the ceiling is in the table; ${stretch} is what is hoped for.`,
  `The others store one document as it came, in an index that is best for it: no field but three keywords is indexed, nothing is sorted, and nothing is refreshed before the end. They judge nothing, and what they store cannot be listed by team and time. ${names.eachMessage}: one request after the other, and ${count(size.fewestRecords)} records only. ${names.eachBatch}: all partitions at once. ${names.go}: one goroutine that polls, four workers, external versions, offsets committed once their records are stored.`,
  'CPU time and memory: of the contender’s process when the last document is found, and of Elasticsearch until a second later. Kafka, Elasticsearch and the contender share the cores.',
  'Memory: as the system counts it (VmHWM), and sampled every 0.1 s.',
  `Freshness: new submissions are appended at an even pace, some of them for ${probes} teams of their own, one at a time for each. From the moment the producer has Kafka’s acknowledgement, that team’s list is asked for, with the ETag of what was seen before, ${pollMs} ms after each answer, until the submission is among its newest 20: delays are up to that and one request too long. What is not seen within ${seenDeadlineMs / 1_000} s counts as that. “generator busy” is how much of the time the process that appends and asks was at work or wanted to be, “its CPU” what it took of one core. Indexer and API in their default configuration but for the rate limit; ${size.freshness.measuredMs / 1_000} s at each rate after ${size.freshness.warmUpMs / 1_000} s to warm up, once.`,
]

const count = (value: number): string => value.toLocaleString('en')

import { createTopics } from '../../src/core/kafka/source.ts'
import { prepareConnectSink } from './alternatives/connectSink.ts'
import { number, spreadText } from './page.ts'
import { appendAll, connect } from './replica.ts'
import { type Counts, type Results, spreadOf } from './report.ts'
import { measureKills } from './sink/kills.ts'
import { measureOrder, type Order } from './sink/order.ts'
import { startPipe } from './sink/pipe.ts'
import { measureFreshness, measureRate, type Rate } from './sink/speed.ts'
import { sink, tidemark, type Writer } from './sink/writers.ts'
import type { Stage } from './stage.ts'
import { type SubmissionRecord, submissionMaker, timeOf } from './submissions.ts'

type Size = Readonly<typeof fullSize>

export const fullSize = {
  records: 150_000,
  rounds: 3,
  kills: { records: 20_000, kills: 5, perSecond: 80 },
  order: { of: 100, others: 20_000, downMs: 75_000 },
  freshness: { rates: [10, 300], forMs: 20_000 },
}
export const smallSize: Size = {
  records: 3_000,
  rounds: 1,
  kills: { records: 1_000, kills: 1, perSecond: 100 },
  order: { of: 20, others: 1_000, downMs: 1_000 },
  freshness: { rates: [10], forMs: 3_000 },
}

const partitions = 4
const teams = 1_000
const mebibyte = 1_024 ** 2

type Bench = {
  readonly stage: Stage
  readonly size: Size
  readonly writers: readonly Writer[]
  readonly append: Awaited<ReturnType<typeof connect>>[1]
  topic(name: string): Promise<string>
}

/** Tidemark's indexer beside a sink of the field, which reads the same records: speed, and what is found after kills, deletions and late records. */
export async function benchSink(stage: Stage, size: Size): Promise<Results> {
  const built = await prepareConnectSink(stage)
  const url = await startPipe(stage)
  const writers = [tidemark(stage, url), sink(stage, built, url)]
  const [admin, append] = await connect(stage)
  const configEntries = [
    { name: 'cleanup.policy', value: 'compact' },
    { name: 'message.timestamp.type', value: 'LogAppendTime' },
  ]
  const topic: Bench['topic'] = async (name) => {
    await createTopics(admin, [{ topic: name, numPartitions: partitions, configEntries }])
    return name
  }
  const bench = { stage, size, writers, append, topic }
  return {
    title: 'Tidemark beside a sink of Kafka Connect',
    about: `${built.about}; one task for each of ${partitions} partitions, upserts by record key with the offset as external version, deletes on tombstones, timeouts of a minute, else default settings; an index with five search keys and one document a submission. Tidemark's indexer has default settings, and two documents a submission. Both read the same records of 4 KB, and write through the same pipe, which answers \`GET /\`.`,
    sections: [],
    samples: new Map(),
    counts: [await rates(bench), await kills(bench), await order(bench), await freshness(bench)],
    compared: ['kills', 'Deletions'],
  }
}

function* submissionsOf(seed: string, count: number): Generator<SubmissionRecord> {
  const make = submissionMaker(seed, true)
  for (let at = 0; at < count; at++) yield make(`team_${at % teams}`, timeOf(at / count))
}

/** In another order in each round. */
async function rates({ stage, size, writers, append, topic }: Bench): Promise<Counts> {
  const name = await topic('rate')
  await appendAll(submissionsOf(name, size.records), size.records, (some) => append(name, some), stage.signal)
  const measured = new Map<Writer, Rate[]>(writers.map((writer) => [writer, []]))
  for (let round = 0; round < size.rounds; round++)
    for (const writer of round % 2 === 0 ? writers : writers.toReversed()) {
      process.stdout.write(`Rate of ${writer.name}\n`)
      const run = { name: `rate-${writers.indexOf(writer)}-${round}`, topic: name }
      measured.get(writer)?.push(await measureRate(stage, [writer, run], size.records))
    }
  return {
    title: `Rate: ${size.records.toLocaleString('en')} submissions`,
    header: ['', 'records a second', 'CPU µs a record', "Elasticsearch's", 'start, s', 'resident at most, MiB'],
    rows: [...measured].map(([writer, runs]) => {
      const of = (value: (rate: Rate) => number): string => spreadText(spreadOf(runs.map(value)))
      return [
        writer.name,
        of(({ perSecond }) => perSecond),
        of(({ cpuUs }) => cpuUs),
        of(({ elasticsearchCpuUs }) => elasticsearchCpuUs),
        of(({ startMs }) => startMs / 1_000),
        of(({ peakResidentBytes }) => peakResidentBytes / mebibyte),
      ]
    }),
  }
}

/** All at once: only the kills take time. */
async function kills({ stage, size, writers, append, topic }: Bench): Promise<Counts> {
  process.stdout.write('Killing\n')
  const rowOf = async (writer: Writer, hasDeletions: boolean): Promise<string[]> => {
    const feed = hasDeletions ? 'upserts and deletions' : 'upserts'
    const name = `kills-${writers.indexOf(writer)}-${hasDeletions}`
    const run = { name, topic: await topic(name) }
    const found = await measureKills(stage, [writer, run, append], size.kills, hasDeletions)
    const { missing, older, undeleted, standstillsMs } = found
    const standstill = spreadText(spreadOf(standstillsMs.map((ms) => ms / 1_000)))
    return [`${writer.name}, ${feed}`, ...[missing, older, undeleted].map(String), standstill]
  }
  const runs = [false, true].flatMap((hasDeletions) => writers.map((writer) => rowOf(writer, hasDeletions)))
  return {
    title: `Differences from the topic after ${size.kills.kills} kills and restarts while ${size.kills.records.toLocaleString('en')} records flow`,
    header: ['', 'missing', 'older value', 'deleted, still found', 'from kill to next write, s'],
    rows: await Promise.all(runs),
  }
}

/** At once, too. */
async function order({ stage, size, writers, append, topic }: Bench): Promise<Counts> {
  process.stdout.write('Deleting and sending late\n')
  const found = await Promise.all(
    writers.map(async (writer, at) => {
      const run = { name: `order-${at}`, topic: await topic(`order-${at}`) }
      return await measureOrder(stage, [writer, run, append], size.order)
    }),
  )
  const row = (label: string, value: (order: Order) => number): string[] => [label, ...found.map(value).map(String)]
  return {
    title: `Deletions and order, ${size.order.of} submissions each`,
    header: ['', ...writers.map(({ name }) => name)],
    rows: [
      row('deleted, still found', ({ undeleted }) => undeleted),
      row('deleted, found again after an older record came late', ({ resurrected }) => resurrected),
      row('updated, older after an older record came late', ({ overwritten }) => overwritten),
      row('deleted and created anew, not found', ({ lostBefore }) => lostBefore),
      row('older for a while after a kill', ({ olderForAWhile }) => olderForAWhile),
      row('deleted, found for a while after a kill', ({ undeletedForAWhile }) => undeletedForAWhile),
      row('deleted, found for good after a kill', ({ undeletedAfter }) => undeletedAfter),
      row('deleted and created anew, not found after a kill', ({ lostAfter }) => lostAfter),
    ],
  }
}

async function freshness({ stage, size, writers, append, topic }: Bench): Promise<Counts> {
  const rows: string[][] = []
  for (const perSecond of size.freshness.rates)
    for (const [at, writer] of writers.entries()) {
      process.stdout.write(`Freshness of ${writer.name} at ${perSecond} a second\n`)
      const name = `fresh-${at}-${perSecond}`
      const run = { name, topic: await topic(name) }
      const { p50Ms, p99Ms } = await measureFreshness(stage, [writer, run, append], perSecond, size.freshness.forMs)
      rows.push([`${writer.name}, ${perSecond} records/s`, number(p50Ms), number(p99Ms)])
    }
  return {
    title: 'Freshness: from acknowledged by Kafka to found by a search in Elasticsearch',
    header: ['', 'p50 ms', 'p99 ms'],
    rows,
  }
}

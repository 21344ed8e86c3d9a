import { setTimeout as sleep } from 'node:timers/promises'
import { readDeadLetter } from '../../indexer/deadLetters/deadLetters.ts'
import { eventually } from './eventually.ts'
import { expectFold } from './expectFold.ts'
import type { Pipeline } from './pipeline.ts'
import { type Program, startProgram } from './programs.ts'
import { type History, type HistoryRecord, randomHistory } from './randomHistory.ts'
import { documentTopics, recordsOf, withAdmin } from './topics.ts'

/** A history of two teams with every kind of dead letter, and few enough entities to check all of them repeatedly. */
export function smallHistory(seed: number, count: number): History {
  const teams = ['acme', 'b.team']
  const isOfTeams = ({ key }: HistoryRecord): boolean => teams.some((team) => key.toString().startsWith(`${team}/`))
  const { records } = randomHistory(seed, 3 * count)
  return { teams, records: records.filter((record) => record.isDeadLetter || isOfTeams(record)).slice(0, count) }
}

/** Produces through any outage of Kafka: repeats every batch that was not acknowledged. */
export async function producePersistently(pipeline: Pipeline, records: readonly HistoryRecord[]): Promise<void> {
  const size = 50
  for (let at = 0; at < records.length; ) {
    try {
      await pipeline.produceHistory(records.slice(at, at + size))
      at += size
    } catch {
      await sleep(200)
    }
  }
}

/** Resolves with the rebuild's generation once it serves. The process ends within ten seconds, or once nobody reads the old one. */
export async function untilServes(rebuild: Program): Promise<number> {
  const serving = /generation (\d+) serves/
  await eventually(() => serving.test(rebuild.log())).catch(() => {
    throw new Error(`it has not switched: ${rebuild.log()}`)
  })
  return Number(serving.exec(rebuild.log())?.[1])
}

/**
 * Runs a rebuild until its generation serves, and returns its log. Then kills the process, which otherwise would wait until the old generation has no
 * reader.
 */
export async function rebuildUntilServes(
  { names }: Pipeline,
  settings: Readonly<Record<string, string>> = {},
): Promise<string> {
  const rebuild = await startProgram('rebuild', { ...names, ...settings })
  await untilServes(rebuild)
  await rebuild.end('SIGKILL')
  return rebuild.log()
}

/** Waits until the API's watermark is later than this call: everything that was appended before the call is visible. */
export async function untilCaughtUp(pipeline: Pipeline, api: Program, team: string): Promise<void> {
  const askedAtMs = Date.now()
  await eventually(async () => ((await watermarkOf(pipeline, api, team)) ?? 0) > askedAtMs)
}

export async function watermarkOf(pipeline: Pipeline, api: Program, team: string): Promise<number | undefined> {
  const watermark = (await pipeline.get(api, team, '/api/v1/forms?limit=1')).headers.get('replica-watermark')
  return watermark === null ? undefined : Date.parse(watermark)
}

/** Waits until the group has committed every partition of the topics (by default those of documents) up to its present end. */
export const untilCommitted = (
  pipeline: Pipeline,
  topics: readonly string[] = documentTopics(pipeline),
): Promise<void> =>
  withAdmin(pipeline.kafka, async (admin) => {
    for (const topic of topics) {
      const ends = (await admin.fetchTopicOffsets(topic)).filter(({ low, high }) => low !== high)
      await eventually(async () => {
        const [of] = await admin.fetchOffsets({ groupId: pipeline.names.CONSUMER_GROUP, topics: [topic] })
        const committed = new Map(of?.partitions.map(({ partition, offset }) => [partition, BigInt(offset)]))
        return ends.every(({ partition, high }) => (committed.get(partition) ?? -1n) >= BigInt(high))
      })
    }
  })

/** Expects documents to equal the fold of the records, and dead letters to be exactly the records that break the contract. */
export async function expectWhole(pipeline: Pipeline, api: Program, history: History): Promise<void> {
  await untilCaughtUp(pipeline, api, history.teams[0] ?? '')
  await expectFold(pipeline, api, history)
  await expectDeadLetters(pipeline, history.records)
}

/** Compares dead letters as sets, because an indexer that reads a record again writes its dead letter again. */
export async function expectDeadLetters(pipeline: Pipeline, records: readonly HistoryRecord[]): Promise<void> {
  const nameOf = { forms: pipeline.names.TOPIC_FORMS, submissions: pipeline.names.TOPIC_SUBMISSIONS }
  const expected = records
    .filter(({ isDeadLetter }) => isDeadLetter)
    .map((record) => inWords(nameOf[record.topic], record))
  const letters = await recordsOf(pipeline.kafka, pipeline.names.TOPIC_DEAD_LETTERS)
  const present = letters.map((letter) => inWords(readDeadLetter(letter).topic, letter))
  expect([...new Set(present)].sort()).toEqual([...new Set(expected)].sort())
}

const inWords = (topic: string | undefined, { key, value }: { key: Buffer | null; value: Buffer | null }): string =>
  `${topic} ${key?.toString('hex')} ${value?.toString('hex')}`

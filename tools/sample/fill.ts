import type { Admin, Producer } from 'kafkajs'
import { pino } from 'pino'
import type { Config } from '../../src/core/config/config.ts'
import { connectKafka } from '../../src/core/kafka/client.ts'
import { createProducer } from '../../src/core/kafka/sink.ts'
import { type ProgressBar, startProgressBar } from '../../src/core/process/progressBar.ts'
import { newestFormId, untilKeysAreComplete, untilServed } from './api.ts'
import { producePast } from './feed.ts'
import { untilIndexed, untilTopicsExist } from './indexing.ts'
import type { Served } from './page.ts'
import type { World } from './world.ts'

type KafkaClients = { readonly admin: Admin; readonly producer: Producer }

export async function withKafka<T>(config: Config, work: (clients: KafkaClients) => Promise<T>): Promise<T> {
  const kafka = connectKafka(config, pino({ level: 'silent' }))
  const admin = kafka.admin()
  const producer = createProducer(kafka)
  try {
    await Promise.all([admin.connect(), producer.connect()])
    return await work({ admin, producer })
  } finally {
    await Promise.allSettled([producer.disconnect(), admin.disconnect()])
  }
}

type FillOptions = {
  readonly submissions: number
  readonly config: Config
  readonly baseUrl: string
  readonly kafka: KafkaClients
  /** A key for each of these teams, in their order. */
  readonly keysOf: (teamIds: readonly string[]) => Promise<string[]>
  readonly signal: AbortSignal
}

/** Produces the past of the world. Resolves when the API serves all of it. */
export async function fill(world: World, options: FillOptions): Promise<Pick<Served, 'teams' | 'formId'>> {
  const { kafka, config, baseUrl, keysOf, signal } = options
  await untilTopicsExist(kafka.admin, config, signal)
  const createKeys = async (): Promise<string[]> => {
    await untilKeysAreComplete(baseUrl, signal)
    return await keysOf(world.teams.map(({ id }) => id))
  }
  const [keys] = await Promise.all([createKeys(), produceAndIndex(world, options)])
  const teams = world.teams.map((team, index) => ({ ...team, ...world.counts(team.id), key: keys[index] ?? '' }))
  await Promise.all(teams.map((team) => untilServed(baseUrl, team.key, signal)))
  return { teams, formId: await newestFormId(baseUrl, keys[0] ?? '', signal) }
}

async function produceAndIndex(world: World, { kafka, config, submissions, signal }: FillOptions): Promise<void> {
  const sending = startProgressBar('Sending submissions', submissions, process.stdout)
  const { admin, producer } = kafka
  await producePast(world, { producer, topics: config, signal, report: sending.reach }).finally(sending.end)
  let indexing: ProgressBar | undefined
  const report = (indexed: number, produced: number): void => {
    indexing ??= startProgressBar('Indexing records', produced, process.stdout)
    indexing.reach(indexed)
  }
  await untilIndexed(admin, { topics: config, groupId: config.CONSUMER_GROUP, signal, report }).finally(() =>
    indexing?.end(),
  )
}

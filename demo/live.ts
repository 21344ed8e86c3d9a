import { join } from 'node:path'
import type { Admin, Producer } from 'kafkajs'
import { pino } from 'pino'
import type { EngineUrls } from '../engines/engines.ts'
import type { Config } from '../src/config.ts'
import { type ProgressBar, startProgressBar } from '../src/progressBar.ts'
import { connectKafka, createProducer } from '../src/replica/kafka.ts'
import { createAccountKey } from './accountKeys.ts'
import { newestFormId, untilServed } from './api.ts'
import { writeDemoFile } from './demoFile.ts'
import { produceOn, producePast } from './feed.ts'
import { untilIndexed, untilTopicsExist } from './indexing.ts'
import { renderPage } from './page.ts'
import { type SignIn, signInLink } from './signIn.ts'
import { createWorld, type World } from './world.ts'

export type Stage = {
  readonly submissions: number
  readonly folder: string
  readonly config: Config
  readonly baseUrl: string
  readonly signIn: SignIn
  /** What leads other programs to the engines. */
  readonly environment: Record<string, string>
  readonly engineUrls: EngineUrls
  /** Ends everything here. */
  readonly signal: AbortSignal
}

type Connected = Stage & { readonly admin: Admin; readonly producer: Producer }

const seed = 'tidemark'

/**
 * Brings the sample world through Kafka, shows how to read it, and lets it go on until the signal aborts. Rejects with the
 * signal's reason when that happens before the world is there.
 */
export async function live(stage: Stage): Promise<void> {
  const kafka = connectKafka(stage.config, pino({ level: 'silent' }))
  const admin = kafka.admin()
  const producer = createProducer(kafka)
  const connected = { ...stage, admin, producer }
  try {
    await Promise.all([admin.connect(), producer.connect()])
    const nowMs = Date.now()
    const world = createWorld({ seed, nowMs, submissions: stage.submissions })
    const keys = await fill(world, connected)
    await present(world, keys, connected, nowMs)
    const onTrouble = (why: string): boolean => process.stderr.write(`New records wait for Kafka: ${why}\n`)
    await produceOn(world, { producer, topics: stage.config, signal: stage.signal, clock: Date.now, onTrouble })
  } finally {
    await Promise.allSettled([producer.disconnect(), admin.disconnect()])
  }
}

/** Returns a key for each team once everything that has happened so far is served. */
async function fill(world: World, connected: Connected): Promise<string[]> {
  const { admin, config, environment, baseUrl, signal } = connected
  await untilTopicsExist(admin, config, signal)
  const [keys] = await Promise.all([
    Promise.all(world.teams.map(({ id }) => createAccountKey(id, environment, signal))),
    bringThrough(world, connected),
  ])
  await Promise.all(
    world.teams.map(({ id }, index) =>
      untilServed(baseUrl, { teamId: id, key: keys[index] ?? '' }, world.counts(id), signal),
    ),
  )
  return keys
}

/** Returns once everything that has happened so far has gone through Kafka and can be found. */
async function bringThrough(world: World, { admin, producer, config, submissions, signal }: Connected): Promise<void> {
  const sending = startProgressBar('Sending submissions', submissions, process.stdout)
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

/** Tells people and programs where to ask, and with which keys. */
async function present(world: World, keys: readonly string[], stage: Stage, nowMs: number): Promise<void> {
  const { baseUrl, signIn, engineUrls, folder, signal } = stage
  const teams = world.teams.map((team, index) => ({ ...team, ...world.counts(team.id), key: keys[index] ?? '' }))
  const total = (what: 'forms' | 'submissions'): number => teams.reduce((sum, team) => sum + team[what], 0)
  const formId = await newestFormId(baseUrl, keys[0] ?? '', signal)
  await writeDemoFile(join(folder, 'demo.json'), {
    baseUrl,
    keys: teams.map(({ id, key }) => ({ team: id, key })),
    settingsUrl: signIn.settingsUrl,
    signInSecret: signIn.secret,
    engines: engineUrls,
    forms: total('forms'),
    submissions: total('submissions'),
  })
  const settingsLink = await signInLink(signIn, teams[0]?.id ?? '', Date.now())
  process.stdout.write(renderPage({ baseUrl, settingsLink, teams, formId, nowMs }))
}

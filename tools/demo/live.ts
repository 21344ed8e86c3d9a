import { join } from 'node:path'
import { pino } from 'pino'
import type { Config } from '../../src/core/process/config.ts'
import { connectKafka } from '../../src/core/stores/kafka.ts'
import { createProducer } from '../../src/core/stores/kafkaSink.ts'
import type { EngineUrls } from '../engines/engines.ts'
import { createAccountKey } from './accountKeys.ts'
import { newestFormId } from './api.ts'
import { writeDemoFile } from './demoFile.ts'
import { produceOn } from './feed.ts'
import { fill } from './fill.ts'
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

const seed = 'tidemark'

/**
 * Brings the sample world through Kafka, shows how to read it, and lets it go on until the signal aborts. Rejects with the
 * signal's reason when that happens before the world is there.
 */
export async function live(stage: Stage): Promise<void> {
  const { config, environment, submissions, signal } = stage
  const kafka = connectKafka(config, pino({ level: 'silent' }))
  const admin = kafka.admin()
  const producer = createProducer(kafka)
  try {
    await Promise.all([admin.connect(), producer.connect()])
    const nowMs = Date.now()
    const world = createWorld({ seed, nowMs, submissions })
    const keysOf = (teamIds: readonly string[]): Promise<string[]> =>
      Promise.all(teamIds.map((id) => createAccountKey(id, environment, signal)))
    const keys = await fill(world, { ...stage, admin, producer, keysOf })
    await present(world, keys, stage, nowMs)
    const onTrouble = (why: string): boolean => process.stderr.write(`New records wait for Kafka: ${why}\n`)
    await produceOn(world, { producer, topics: config, signal, clock: Date.now, onTrouble })
  } finally {
    await Promise.allSettled([producer.disconnect(), admin.disconnect()])
  }
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

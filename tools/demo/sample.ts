import { pino } from 'pino'
import type { Config } from '../../src/core/process/config.ts'
import { connectKafka } from '../../src/core/stores/kafka.ts'
import { createProducer } from '../../src/core/stores/kafkaSink.ts'
import { createAccountKey } from './accountKeys.ts'
import { newestFormId, takesKey } from './api.ts'
import { fill } from './fill.ts'
import { keptKeys } from './keptKeys.ts'
import { renderSamplePage } from './page.ts'
import { createWorld } from './world.ts'

export type Sample = {
  readonly config: Config
  /** Where the API is, as seen from here. */
  readonly apiUrl: string
  /** The file that keeps the keys from one time to the next. */
  readonly keysPath: string
  readonly signal: AbortSignal
}

const submissions = 5_000
/** Always the same, so that all records are: brought again, they change nothing. */
const nowMs = Date.parse('2026-11-01T00:00:00.000Z')

/** Brings the sample teams into a Tidemark that runs; returns what tells people how to ask for them. */
export async function loadSample({ config, apiUrl, keysPath, signal }: Sample): Promise<string> {
  const kafka = connectKafka(config, pino({ level: 'silent' }))
  const admin = kafka.admin()
  const producer = createProducer(kafka)
  const keysOf = (teamIds: readonly string[]): Promise<string[]> =>
    keptKeys(keysPath, teamIds, {
      isTaken: (key) => takesKey(apiUrl, key, signal),
      create: (id) => createAccountKey(id, {}, signal),
    })
  try {
    await Promise.all([admin.connect(), producer.connect()])
    const world = createWorld({ seed: 'sample', nowMs, submissions })
    const keys = await fill(world, { submissions, config, baseUrl: apiUrl, admin, producer, keysOf, signal })
    const teams = world.teams.map((team, index) => ({ ...team, ...world.counts(team.id), key: keys[index] ?? '' }))
    const formId = await newestFormId(apiUrl, keys[0] ?? '', signal)
    return renderSamplePage({ baseUrl: config.BASE_URL ?? apiUrl, teams, formId, nowMs })
  } finally {
    await Promise.allSettled([producer.disconnect(), admin.disconnect()])
  }
}

import { join } from 'node:path'
import type { Config } from '../../src/core/config/config.ts'
import type { EngineUrls } from '../engines/engines.ts'
import { writePrivateJson } from '../sample/demoFile.ts'
import { createAccountKey } from '../sample/demoKeys.ts'
import { produceOn } from '../sample/feed.ts'
import { fill, withKafka } from '../sample/fill.ts'
import { renderPage, type Served } from '../sample/page.ts'
import { type SignIn, signInLink } from '../sample/signIn.ts'
import { World } from '../sample/world.ts'

export type LiveOptions = {
  readonly submissions: number
  readonly folder: string
  readonly config: Config
  readonly baseUrl: string
  readonly signIn: SignIn
  readonly environment: Record<string, string>
  readonly engineUrls: EngineUrls
  readonly signal: AbortSignal
}

const seed = 'tidemark'

/**
 * Loads the sample world, prints how to read it, and produces new records until the signal aborts. If it aborts before the world is loaded, rejects
 * with its reason.
 */
export function live(options: LiveOptions): Promise<void> {
  const { config, environment, submissions, signal } = options
  return withKafka(config, async (kafka) => {
    const nowMs = Date.now()
    const world = new World({ seed, nowMs, submissions })
    const keysOf = (teamIds: readonly string[]): Promise<string[]> =>
      Promise.all(teamIds.map((id) => createAccountKey(id, environment, signal)))
    await present({ ...(await fill(world, { ...options, kafka, keysOf })), baseUrl: options.baseUrl, nowMs }, options)
    const onFailure = (why: string): boolean => process.stderr.write(`New records wait for Kafka: ${why}\n`)
    await produceOn(world, { producer: kafka.producer, topics: config, signal, clock: Date.now, onFailure })
  })
}

async function present(served: Served, { signIn, engineUrls, folder }: LiveOptions): Promise<void> {
  const { baseUrl, teams } = served
  const total = (what: 'forms' | 'submissions'): number => teams.reduce((sum, team) => sum + team[what], 0)
  await writePrivateJson(join(folder, 'demo.json'), {
    baseUrl,
    keys: teams.map(({ id, key }) => ({ team: id, key })),
    settingsUrl: signIn.settingsUrl,
    signInSecret: signIn.secret,
    engines: engineUrls,
    forms: total('forms'),
    submissions: total('submissions'),
  })
  const settingsLink = await signInLink(signIn, teams[0]?.id ?? '', Date.now())
  process.stdout.write(renderPage({ ...served, settingsLink }))
}

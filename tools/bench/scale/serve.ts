import { join } from 'node:path'
import { pino } from 'pino'
import { connectKafka } from '../../../src/core/stores/kafka.ts'
import { createAccountKey } from '../../demo/accountKeys.ts'
import { untilTopicsExist } from '../../demo/indexing.ts'
import { choosePort } from '../../engines/ports.ts'
import { waitUntil } from '../../engines/waiting.ts'
import { unlimited } from '../processes.ts'
import type { Stage } from '../stage.ts'
import { fixedTeam, largestTeam, type World } from './world.ts'

/** A world whose indices an API serves. */
export type ServedWorld = World & {
  /** Of the API, such as `http://127.0.0.1:3000`, and of its metrics. */
  readonly origin: string
  readonly adminOrigin: string
}

/** A key of each team that is measured; every world knows it. */
export type AccountKeys = Readonly<Record<typeof fixedTeam | typeof largestTeam, string>>

const servingDeadlineMs = 60_000

/** Gives both teams a key in the world that is served first; the indexers of the others read the keys from Kafka. */
export async function createAccountKeys(stage: Stage, { name }: World): Promise<AccountKeys> {
  const environment = { ...stage.environment, ...environmentOf(name) }
  const [fixed, largest] = await Promise.all(
    [fixedTeam, largestTeam].map((team) => createAccountKey(team, environment, stage.signal)),
  )
  return { [fixedTeam]: fixed ?? '', [largestTeam]: largest ?? '' }
}

const environmentOf = (name: string): Record<string, string> => ({ INDEX_PREFIX: name, CONSUMER_GROUP: name })

/**
 * Has an indexer make the empty indices of a world and stops it; starts an API that stays. `keysOf` is asked for the account keys
 * while the indexer runs; the API answers them when this returns.
 */
export async function serveWorld(
  stage: Stage,
  world: World,
  keysOf: () => Promise<AccountKeys>,
): Promise<{ readonly served: ServedWorld; readonly keys: AccountKeys }> {
  const logs = join(stage.logsFolder, world.name)
  const environment = { ...environmentOf(world.name), INDEX_SHARDS: String(world.shards) }
  const [port, adminPort] = [await choosePort(), await choosePort()]
  const indexer = await stage.start('indexer', environment, logs)
  await stage.start(
    'api',
    { ...environment, PORT: String(port), ADMIN_PORT: String(adminPort), RATE_LIMIT_PER_MINUTE: unlimited },
    logs,
  )
  await topicsExist(stage)
  const keys = await keysOf()
  const served = { ...world, origin: `http://127.0.0.1:${port}`, adminOrigin: `http://127.0.0.1:${adminPort}` }
  await untilServed(stage, served, keys)
  await indexer.stop()
  return { served, keys }
}

async function topicsExist({ config, signal }: Stage): Promise<void> {
  const admin = connectKafka(config, pino({ level: 'silent' })).admin()
  try {
    await admin.connect()
    await untilTopicsExist(admin, config, signal)
  } finally {
    await admin.disconnect()
  }
}

/** Windows on the time of change are answered once there is a watermark: everything else is there by then. */
async function untilServed({ signal }: Stage, { name, origin }: ServedWorld, keys: AccountKeys): Promise<void> {
  const answers = async (accountKey: string): Promise<boolean> => {
    const headers = { authorization: `Bearer ${accountKey}` }
    const url = `${origin}/api/v1/records?changedSince=2026-01-01`
    return await fetch(url, { headers, signal }).then(
      async (answer) => {
        await answer.arrayBuffer()
        return answer.status === 200
      },
      () => false,
    )
  }
  const allAnswer = async (): Promise<boolean> => (await Promise.all(Object.values(keys).map(answers))).every(Boolean)
  if (await waitUntil(allAnswer, { deadlineMs: servingDeadlineMs, signal })) return
  throw new Error(`The API of ${name} does not answer within ${servingDeadlineMs / 1_000} s`)
}

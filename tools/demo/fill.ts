import type { Admin, Producer } from 'kafkajs'
import type { Config } from '../../src/core/process/config.ts'
import { type ProgressBar, startProgressBar } from '../../src/core/process/progressBar.ts'
import { untilServed } from './api.ts'
import { producePast } from './feed.ts'
import { untilIndexed, untilTopicsExist } from './indexing.ts'
import type { World } from './world.ts'

/** Where a world goes, and where it is read. */
export type Filling = {
  readonly submissions: number
  readonly config: Config
  readonly baseUrl: string
  readonly admin: Admin
  readonly producer: Producer
  /** A key for each of these teams, in their order. */
  readonly keysOf: (teamIds: readonly string[]) => Promise<string[]>
  readonly signal: AbortSignal
}

/** Returns a key for each team once everything that has happened in the world so far is served. */
export async function fill(world: World, filling: Filling): Promise<string[]> {
  const { admin, config, baseUrl, keysOf, signal } = filling
  await untilTopicsExist(admin, config, signal)
  const [keys] = await Promise.all([keysOf(world.teams.map(({ id }) => id)), bringThrough(world, filling)])
  await Promise.all(
    world.teams.map(({ id }, index) =>
      untilServed(baseUrl, { teamId: id, key: keys[index] ?? '' }, world.counts(id), signal),
    ),
  )
  return keys
}

/** Returns once everything that has happened so far has gone through Kafka and can be found. */
async function bringThrough(world: World, { admin, producer, config, submissions, signal }: Filling): Promise<void> {
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

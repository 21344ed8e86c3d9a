import { readFile } from 'node:fs/promises'
import { choosePort } from '../engines/ports.ts'
import { startProgram } from './program.ts'
import { createServedKey, type KafkaRecord, type Replica, startApi } from './replica.ts'
import type { Stage } from './stage.ts'

/** A server of a team's lists, filled from a topic of its own. */
export type Alternative = {
  readonly name: string
  readonly origin: string
  readonly accountKey: string
  /** A client follows changes by the change feed, or by windows of the time of the last update. */
  readonly changes: 'feed' | 'windows'
  /** Whether it answers pages beyond 10,000 rows. */
  readonly reachesAllPages: boolean
  /** Lines of code that its user has to write; none for Tidemark. */
  readonly lines: number
  append(records: readonly KafkaRecord[]): Promise<void>
  startSink(): Promise<{ stop(): Promise<void>; expectRunning?(): Promise<void> }>
}

/** Without an answer cache, unless `environment` enables it. */
export async function tidemark(
  stage: Stage,
  append: Replica['append'],
  teamId: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<Alternative> {
  const origin = await startApi(stage, environment)
  const startSink = () => stage.start('indexer', {})
  const indexer = await startSink()
  const accountKey = await createServedKey(stage, origin, teamId)
  await indexer.stop()
  return {
    name: 'Tidemark',
    origin,
    accountKey,
    changes: 'feed',
    reachesAllPages: true,
    lines: 0,
    append: (records) => append(stage.config.TOPIC_SUBMISSIONS, records),
    startSink,
  }
}

export async function byHand(
  stage: Stage,
  append: Replica['append'],
  [name, teamId]: readonly [name: 'elasticsearch' | 'postgres', teamId: string],
): Promise<Alternative> {
  const port = String(await choosePort())
  const topic = `submissions-${name}`
  const accountKey = `key-of-${teamId}`
  const own = { ...stage, environment: { ...stage.environment, POSTGRES_URL: process.env['POSTGRES_URL'] ?? '' } }
  const file = `alternatives/${name}Programs.ts`
  const start = (program: string, ...args: readonly string[]) =>
    startProgram(own, `${name}-${program}`, file, [program, ...args])
  const { pid } = await start('server', port, accountKey, teamId)
  const origin = `http://127.0.0.1:${port}`
  stage.serves(origin, pid)
  return {
    name: `${name === 'postgres' ? 'PostgreSQL' : 'Elasticsearch'} behind Koa`,
    origin,
    accountKey,
    changes: 'windows',
    reachesAllPages: name === 'postgres',
    lines: linesOf(await readFile(new URL(file, import.meta.url), 'utf8')),
    append: (records) => append(topic, records),
    startSink: () => start('sink', topic),
  }
}

/** Without empty lines and comments. */
const linesOf = (text: string): number => text.split('\n').filter((line) => !/^\s*($|\/?\*|\/\/)/.test(line)).length

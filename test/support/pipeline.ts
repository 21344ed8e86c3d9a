import { createHash } from 'node:crypto'
import { Client } from '@elastic/elasticsearch'
import kafkajs, { type Message } from 'kafkajs'
import type { CommandName } from '../../bin/commands.ts'
import type { SourceRecord } from '../../src/core/kafka/sourceRecord.ts'
import { accountKeyRecord } from './entities.ts'
import { eventually } from './eventually.ts'
import { useStarted } from './lifecycle.ts'
import { ownNames } from './names.ts'
import { killPrograms, type Program, startProgram, untilReady } from './programs.ts'
import type { HistoryRecord } from './randomHistory.ts'
import { recordsOf } from './topics.ts'

type Settings = Readonly<Record<string, string>>

export type Pipeline = Awaited<ReturnType<typeof openPipeline>>

const bounded = { requestTimeout: 10_000, maxRetries: 0 }
const atOnce = 100

/** Opens the whole path from Kafka to HTTP, under unique names. */
export async function openPipeline() {
  const names = ownNames()
  const kafka = new kafkajs.Kafka({
    clientId: 'test',
    brokers: (process.env['KAFKA_BROKERS'] ?? '').split(','),
    logLevel: kafkajs.logLevel.NOTHING,
    retry: { retries: 10, initialRetryTime: 100 },
  })
  const producer = kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner })
  await producer.connect()
  const [node = ''] = (process.env['ELASTICSEARCH_URL'] ?? '').split(',')
  const elasticsearch = new Client({ node })
  let appendedAtMs = 0
  const nameOf = (topic: string): string => {
    const named: Readonly<Record<string, string>> = names
    return named[`TOPIC_${topic.toUpperCase().replace('-', '_')}`] ?? topic
  }
  const keyOf = (team: string): string => `rqp_acct_${sha256(names.INDEX_PREFIX + team)}`
  const starting =
    (command: CommandName, defaults: Settings = {}) =>
    async (settings: Settings = {}, root?: string): Promise<Program> => {
      const program = await startProgram(command, { ...names, ...defaults, ...settings }, [], root)
      await untilReady(program)
      return program
    }
  /** Produces records, in order; remembers the latest append time. */
  const produce = async (topic: string, messages: readonly Message[]): Promise<void> => {
    const batches = await producer.send({ topic: nameOf(topic), acks: -1, messages: [...messages] })
    for (const { logAppendTime } of batches) appendedAtMs = Math.max(appendedAtMs, Number(logAppendTime))
  }
  const get = async (
    api: Pick<Program, 'url'>,
    team: string,
    path: string,
  ): Promise<{ status: number; headers: Headers; body: never }> => {
    const response = await fetch(api.url + path, { headers: { authorization: `Bearer ${keyOf(team)}` } })
    return { status: response.status, headers: response.headers, body: (await response.json()) as never }
  }

  return {
    names,
    kafka,
    elasticsearch,
    /** The plaintext key of a team for which `createKeys` was called. */
    keyOf,
    startIndexer: starting('indexer'),
    startApi: starting('api', { RATE_LIMIT_PER_MINUTE: '1000000' }),
    startSettings: starting('settings'),
    produce,
    /** The latest append time of produced records (epoch ms). */
    appendedAtMs: () => appendedAtMs,
    produceHistory: async (records: readonly HistoryRecord[]): Promise<void> => {
      for (let at = 0; at < records.length; at += atOnce) {
        for (const topic of ['forms', 'submissions'] as const) {
          const messages = records.slice(at, at + atOnce).filter((record) => record.topic === topic)
          if (messages.length > 0) await produce(topic, messages)
        }
      }
    },
    /** Gives each team a key through Kafka. */
    createKeys: async (teams: readonly string[]): Promise<void> => {
      await produce(
        'account-keys',
        teams.map((team) => ({ key: `${team}/k1`, value: accountKeyRecord({ digest: sha256(keyOf(team)) }) })),
      )
    },
    get,
    /** Waits until the watermark of the API covers everything produced so far. */
    untilApplied: (api: Pick<Program, 'url'>, team: string): Promise<void> =>
      eventually(async () => {
        const { headers } = await get(api, team, '/api/v1/forms?limit=1')
        return Date.parse(headers.get('replica-watermark') ?? '') > appendedAtMs
      }),
    /** Waits until there are `count` dead letters, and returns them. */
    deadLetters: async (
      count: number,
    ): Promise<{ key: Buffer | null; value: Buffer | null; headers: Record<string, string> }[]> => {
      let letters: SourceRecord[] = []
      await eventually(async () => {
        letters = await recordsOf(kafka, nameOf('dead-letters'))
        return letters.length >= count
      })
      return letters.map(({ key, value, headers }) => {
        const texts = [...headers].map(({ name, value: text }) => [String(name), String(text)])
        return { key, value, headers: Object.fromEntries(texts) }
      })
    },
    /** Kills programs that still run, and deletes its indices, because every index slows Elasticsearch down. */
    close: async (): Promise<void> => {
      killPrograms()
      await producer.disconnect()
      const indices = Object.keys(await elasticsearch.indices.get({ index: `${names.INDEX_PREFIX}-*` }, bounded))
      // A rebuild may remove some meanwhile.
      if (indices.length > 0) await elasticsearch.indices.delete({ index: indices, ignore_unavailable: true }, bounded)
      await elasticsearch.close()
    },
  }
}

/** A pipeline for all tests of a file or block, or a new one for each test. Hooks that run after its end can still read its names. */
export const usePipeline = (options: { readonly forEachTest?: boolean } = {}): Pipeline =>
  useStarted('the pipeline', openPipeline, options)

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

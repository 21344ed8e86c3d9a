import { createHash } from 'node:crypto'
import kafkajs, { type Consumer, type Kafka, type Message } from 'kafkajs'
import { accountKeyRecord } from './entities.ts'
import { eventually } from './eventually.ts'
import { ownNames } from './names.ts'
import { type Program, startProgram, untilReady } from './programs.ts'
import type { HistoryRecord } from './randomHistory.ts'

/** The whole path under names of its own: Kafka in, HTTP out. */
export type Pipeline = {
  readonly names: Record<string, string>
  readonly kafka: Kafka
  startIndexer(settings?: Record<string, string>): Promise<Program>
  startApi(settings?: Record<string, string>): Promise<Program>
  startSettings(settings: Record<string, string>): Promise<Program>
  /** Produces records, in order; remembers the latest append time. */
  produce(topic: string, messages: readonly Message[]): Promise<void>
  /** The latest append time of what was produced. */
  appendedAtMs(): number
  produceHistory(records: readonly HistoryRecord[]): Promise<void>
  /** Gives each team a key through Kafka; a team's key is the answer of `keyOf`. */
  createKeys(teams: readonly string[]): Promise<void>
  keyOf(team: string): string
  get(api: Pick<Program, 'url'>, team: string, path: string): Promise<{ status: number; headers: Headers; body: never }>
  /** Waits until the API says that everything produced so far is in its answers. */
  untilApplied(api: Pick<Program, 'url'>, team: string): Promise<void>
  deadLetters(count: number): Promise<{ key: Buffer | null; value: Buffer | null; headers: Record<string, string> }[]>
  /** Deletes its indices, for Elasticsearch becomes slower with each. */
  close(): Promise<void>
}

const closeTimeoutMs = 10_000

export async function openPipeline(): Promise<Pipeline> {
  const names = ownNames()
  const kafka = new kafkajs.Kafka({
    clientId: 'test',
    brokers: (process.env['KAFKA_BROKERS'] ?? '').split(','),
    logLevel: kafkajs.logLevel.NOTHING,
    retry: { retries: 10, initialRetryTime: 100 },
  })
  const producer = kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner })
  await producer.connect()
  const [elasticsearchUrl = ''] = (process.env['ELASTICSEARCH_URL'] ?? '').split(',')
  let appendedAtMs = 0
  const nameOf = (topic: string): string => names[`TOPIC_${topic.toUpperCase().replace('-', '_')}`] ?? topic
  const keyOf = (team: string): string => `rqp_acct_${sha256(names['INDEX_PREFIX'] + team)}`

  const pipeline: Pipeline = {
    names,
    kafka,
    keyOf,
    startIndexer: async (settings = {}) => {
      const indexer = await startProgram('indexer', { ...names, ...settings })
      await untilReady(indexer)
      return indexer
    },
    startApi: async (settings = {}) => {
      const api = await startProgram('api', { ...names, RATE_LIMIT_PER_MINUTE: '1000000', ...settings })
      await untilReady(api)
      return api
    },
    startSettings: async (settings) => {
      const area = await startProgram('settings', { ...names, ...settings })
      await untilReady(area)
      return area
    },
    produce: async (topic, messages) => {
      const sent = await producer.send({ topic: nameOf(topic), acks: -1, messages: [...messages] })
      for (const { logAppendTime } of sent) appendedAtMs = Math.max(appendedAtMs, Number(logAppendTime))
    },
    appendedAtMs: () => appendedAtMs,
    produceHistory: async (records) => {
      const size = 100
      for (let at = 0; at < records.length; at += size) {
        for (const topic of ['forms', 'submissions'] as const) {
          const messages = records.slice(at, at + size).filter((record) => record.topic === topic)
          if (messages.length > 0) await pipeline.produce(topic, messages)
        }
      }
    },
    createKeys: async (teams) => {
      const createdAt = new Date().toISOString()
      await pipeline.produce(
        'account-keys',
        teams.map((team) => ({
          key: `${team}/k1`,
          value: accountKeyRecord(sha256(keyOf(team)), createdAt),
        })),
      )
    },
    get: async (api, team, path) => {
      const response = await fetch(api.url + path, { headers: { authorization: `Bearer ${keyOf(team)}` } })
      return { status: response.status, headers: response.headers, body: (await response.json()) as never }
    },
    untilApplied: (api, team) =>
      eventually(async () => {
        const { headers } = await pipeline.get(api, team, '/api/v1/forms?limit=1')
        return Date.parse(headers.get('replica-watermark') ?? '') > appendedAtMs
      }),
    deadLetters: async (count) =>
      await readAll(kafka.consumer({ groupId: `${names['INDEX_PREFIX']}-reader` }), nameOf('dead-letters'), count),
    close: async () => {
      await producer.disconnect()
      await deleteIndices(elasticsearchUrl, names['INDEX_PREFIX'] ?? '')
    },
  }
  return pipeline
}

async function deleteIndices(url: string, prefix: string): Promise<void> {
  const signal = AbortSignal.timeout(closeTimeoutMs)
  const found = await fetch(`${url}/${prefix}-*`, { signal })
  const indices = Object.keys((await found.json()) as object)
  if (indices.length > 0) await (await fetch(`${url}/${indices.join()}`, { method: 'DELETE', signal })).arrayBuffer()
}

async function readAll(consumer: Consumer, topic: string, count: number): ReturnType<Pipeline['deadLetters']> {
  const letters: Awaited<ReturnType<Pipeline['deadLetters']>> = []
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({
    eachMessage: async ({ message }) => {
      const headers = Object.entries(message.headers ?? {}).map(([name, value]) => [name, String(value)])
      letters.push({ key: message.key, value: message.value, headers: Object.fromEntries(headers) })
    },
  })
  await eventually(() => letters.length >= count)
  await consumer.disconnect()
  return letters
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

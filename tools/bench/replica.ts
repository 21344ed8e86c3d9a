import type { Admin } from 'kafkajs'
import { pino } from 'pino'
import { connectKafka } from '../../src/core/kafka/client.ts'
import { createProducer } from '../../src/core/kafka/sink.ts'
import { startProgressBar } from '../../src/core/process/progressBar.ts'
import { choosePort } from '../engines/ports.ts'
import { pause } from '../engines/waiting.ts'
import { createAccountKey } from '../sample/demoKeys.ts'
import { chunksOf } from '../sample/feed.ts'
import { untilIndexed, untilTopicsExist } from '../sample/indexing.ts'
import { apiRequest, untilAnswered } from './http.ts'
import type { Stage } from './stage.ts'

export type KafkaRecord = { readonly key: string; readonly value: string }
/** Without a value, a deletion. */
export type Change = { readonly key: string; readonly value: string | null }

export type Replica = {
  /** Of the API, such as `http://127.0.0.1:3000`. */
  readonly origin: string
  append(topic: string, records: readonly Change[]): Promise<void>
  /** Resolves when every appended record is searchable. `report` gets the number of indexed records. */
  untilIndexed(report?: (indexed: number) => void): Promise<void>
}

const allReplicas = -1
const maxSendCharacters = 512 * 1024

const withoutRateLimit = { RATE_LIMIT_PER_MINUTE: '1000000000' }

/** Resolves when the topics exist. */
export async function startReplica(stage: Stage): Promise<Replica> {
  const { config, signal } = stage
  const origin = await startApi(stage, {})
  await stage.start('indexer', {})
  const [admin, append] = await connect(stage)
  await untilTopicsExist(admin, config, signal)
  const progress = { topics: config, groupId: config.CONSUMER_GROUP, signal }
  return {
    origin,
    append,
    untilIndexed: (report = () => undefined) => untilIndexed(admin, { ...progress, report }),
  }
}

/** Otherwise cached answers would be compared with Elasticsearch. */
const withoutAnswerCache = { ANSWER_CACHE_BYTES: '0' }
export const withAnswerCache = { ANSWER_CACHE_BYTES: '' }

/** Without limits and without an answer cache, with `more` in its environment. Resolves with its origin. */
export async function startApi(stage: Stage, more: Readonly<Record<string, string>>, logs?: string): Promise<string> {
  const port = await choosePort()
  const origin = `http://127.0.0.1:${port}`
  const { pid } = await stage.start(
    'api',
    { ...withoutAnswerCache, ...more, ...withoutRateLimit, PORT: String(port) },
    logs,
  )
  stage.serves(origin, pid)
  return origin
}

/** Until the stage ends. */
export async function connect({ config, release }: Stage): Promise<[admin: Admin, append: Replica['append']]> {
  const kafka = connectKafka(config, pino({ level: 'silent' }))
  const admin = kafka.admin()
  const producer = createProducer(kafka)
  release(() => admin.disconnect())
  release(() => producer.disconnect())
  await Promise.all([admin.connect(), producer.connect()])
  const append: Replica['append'] = async (topic, records) => {
    const messages = records.map(({ key, value }) => ({ key, value }))
    await producer.send({ topic, messages, acks: allReplicas })
  }
  return [admin, append]
}

/** In requests of about 512 KiB. */
export async function appendAll<T extends Change>(
  records: Iterable<T>,
  total: number,
  append: (records: readonly T[]) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const bar = startProgressBar('Sending records', total, process.stdout)
  let sent = 0
  try {
    for (const chunk of chunksOf(records, maxSendCharacters)) {
      signal.throwIfAborted()
      await append(chunk)
      sent += chunk.length
      bar.reach(sent)
    }
  } finally {
    bar.end()
  }
}

/** Resolves when the API accepts the key, also for its change feed. */
export async function createServedKey(stage: Stage, origin: string, teamId: string): Promise<string> {
  for (let attempts = 1; ; attempts++)
    try {
      const accountKey = await createAccountKey(teamId, stage.environment, stage.signal)
      await untilServed(stage, origin, accountKey)
      return accountKey
    } catch (error) {
      // An indexer that has just started may not have replayed the keys yet.
      if (attempts === maxKeyAttempts) throw error
      await pause(keyRetryMs, stage.signal)
    }
}

const maxKeyAttempts = 5
const keyRetryMs = 1_000

export const untilServed = (stage: Stage, origin: string, accountKey: string): Promise<void> =>
  untilAnswered(origin, apiRequest(accountKey, 'record-changes', { cursor: 'latest' }), stage)

const tickMs = 10

/** While `work` runs, calls `append` with the number of records that are due at `perSecond`. If `append` rejects, the signal of `work` aborts. */
export async function whileAppending<T>(
  append: (due: number) => Promise<void>,
  perSecond: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController()
  const failed = new AbortController()
  const ending = AbortSignal.any([signal, over.signal])
  const beganMs = performance.now()
  const appendAll = async (): Promise<void> => {
    let appended = 0
    while (!ending.aborted) {
      const due = Math.floor(((performance.now() - beganMs) * perSecond) / 1_000) - appended
      if (due > 0) await append(due)
      appended += due
      await pause(tickMs, ending).catch(() => undefined)
    }
  }
  const appending = appendAll().catch((error: unknown) => {
    failed.abort(error)
    throw error
  })
  const working = work(AbortSignal.any([signal, failed.signal])).finally(() => over.abort())
  const [outcome] = await Promise.all([working, appending])
  return outcome
}

import { request } from 'node:http'
import { Writable } from 'node:stream'
import kafkajs from 'kafkajs'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { ensureTopics } from '../../indexer/topics.ts'
import { kafkaSource } from '../../src/core/kafka/source.ts'
import { createLog } from '../../src/core/process/log.ts'
import { AccountKeyStore } from '../../src/core/stores/accountKeyStore.ts'
import { configuredEngines } from '../../src/core/stores/engines.ts'
import type { RedisConnection } from '../../src/core/stores/redis.ts'
import type { RedisKeys } from '../../src/core/stores/redisKeys.ts'
import { startSettings } from '../../src/settings/startSettings.ts'
import { readinessOf } from './api.ts'
import { testConfig } from './config.ts'
import { eventually } from './eventually.ts'
import { ownNames } from './names.ts'
import { connectReal } from './redisPair.ts'
import { type Claims, signInClaims, signInSettings, signToken } from './signIns.ts'

export type SettingsAnswer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly cookies: readonly string[]
  readonly text: string
}

export type SettingsRequest = {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** A browser as far as the server sees it: it keeps cookies and sends forms from the page it has. */
export type Visitor = {
  readonly jar: Map<string, string>
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<SettingsAnswer>
  /** Fills in the form of the page at `/keys`, or one with fields of its own. */
  post(
    path: string,
    fields: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>,
  ): Promise<SettingsAnswer>
  /** The hidden fields of the page that makes keys: `csrf` and `once`. */
  hidden(): Promise<{ csrf: string; once: string }>
}

export type TestSettings = {
  readonly origin: string
  readonly redis: RedisConnection
  readonly redisKeys: RedisKeys
  /** Everything that was logged so far. */
  log(): string
  send(target: string, request?: SettingsRequest): Promise<SettingsAnswer>
  visitor(): Visitor
  /** A visitor that has signed in. */
  signIn(changes?: Claims): Promise<Visitor>
  close(): Promise<void>
}

/** The names, topics and a key view for settings areas of one test file. */
export async function prepareSettings(): Promise<Record<string, string>> {
  const names = ownNames()
  const config = testConfig(names)
  const kafka = new kafkajs.Kafka({ brokers: config.KAFKA_BROKERS, logLevel: kafkajs.logLevel.NOTHING })
  const source = kafkaSource(kafka)
  // A broker that has just created a topic may say for a moment that there is none.
  await eventually(() =>
    ensureTopics(source, config, pino({ level: 'silent' })).then(
      () => true,
      () => false,
    ),
  )
  await source.close()
  const link = await connectReal(config.INDEX_PREFIX)
  await (await new AccountKeyStore(link).beginReplay('test')).complete()
  await link.close()
  return names
}

/** The settings area in this process, on a free port, composed as in production. */
export async function startTestSettings(
  settings: Readonly<Record<string, string>>,
  { nowMs = Date.now, awaitReady = true }: { nowMs?: () => number; awaitReady?: boolean } = {},
): Promise<TestSettings> {
  let log = ''
  const sink = new Writable({
    write: (chunk, _encoding, done) => {
      log += String(chunk)
      done()
    },
  })
  const releasers: (() => Promise<unknown>)[] = []
  const stop = new AbortController()
  const config = testConfig({ ...signInSettings, ...settings })
  const { port, checks } = await startSettings(
    {
      config,
      engines: configuredEngines,
      log: createLog({ name: 'test', level: 'info' }, sink),
      metrics: new Registry(),
      signal: stop.signal,
      release: (_what, releaser) => {
        releasers.push(releaser)
      },
    },
    nowMs,
  )
  const readiness = readinessOf(checks)
  if (awaitReady) await eventually(async () => (await readiness()).length === 0)
  const redis = await connectReal(config.INDEX_PREFIX)
  const origin = config.SETTINGS_URL ?? `http://127.0.0.1:${port}`
  const area: TestSettings = {
    origin,
    redis,
    redisKeys: redis.keys,
    log: () => log,
    send: (target, options) => send(port, target, options),
    visitor: () => visitor(area),
    signIn: (changes) => signIn(area, nowMs(), changes),
    close: async () => {
      stop.abort()
      for (const releaser of releasers.reverse()) await releaser()
      await redis.close()
    },
  }
  return area
}

/** A visitor that has signed in to a settings area that runs as a process of its own. */
export const signInAt = (origin: string, changes: Claims): Promise<Visitor> => {
  const port = Number(new URL(origin).port)
  return signIn({ origin, send: (target, options) => send(port, target, options) }, Date.now(), changes)
}

type Area = Pick<TestSettings, 'origin' | 'send'>

async function signIn(area: Area, nowMs: number, changes?: Claims): Promise<Visitor> {
  const visiting = visitor(area)
  const token = await signToken(signInClaims(nowMs, changes))
  const { status } = await visiting.get(`/sign-in?token=${token}`)
  if (status !== 303) throw new Error(`signing in gave ${status}`)
  return visiting
}

function visitor(area: Area): Visitor {
  const jar = new Map<string, string>()
  const exchange = async (path: string, options: SettingsRequest): Promise<SettingsAnswer> => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { ...(cookie !== '' && { cookie }), ...options.headers }
    const answer = await area.send(path, { ...options, headers })
    for (const line of answer.cookies) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '') jar.delete(name)
      else jar.set(name, value)
    }
    return answer
  }
  const self: Visitor = {
    jar,
    get: (path, headers = {}) => exchange(path, { headers }),
    post: (path, fields, headers = {}) =>
      exchange(path, {
        method: 'POST',
        headers: { origin: area.origin, 'content-type': 'application/x-www-form-urlencoded', ...headers },
        body: new URLSearchParams(fields).toString(),
      }),
    hidden: async () => {
      const { text } = await self.get('/keys')
      return { csrf: fieldOf(text, 'csrf'), once: fieldOf(text, 'once') }
    },
  }
  return self
}

const fieldOf = (text: string, name: string): string =>
  new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? ''

/** The plaintext key on a page. */
export const plaintextIn = ({ text }: SettingsAnswer): string => /rqp_acct_[A-Za-z0-9_-]{43}/.exec(text)?.[0] ?? ''

function send(
  port: number,
  target: string,
  { method = 'GET', headers, body }: SettingsRequest = {},
): Promise<SettingsAnswer> {
  return new Promise((resolve, reject) => {
    const sent = request({ port, path: target, method, agent: false, headers: { ...headers } })
    sent.on('error', reject)
    sent.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        text += chunk
      })
      response.on('error', reject)
      response.on('end', () => {
        const { 'set-cookie': cookies = [], ...others } = response.headers
        resolve({
          status: response.statusCode ?? 0,
          headers: others as Readonly<Record<string, string | undefined>>,
          cookies,
          text,
        })
      })
    })
    sent.end(body)
  })
}

import kafkajs from 'kafkajs'
import { pino } from 'pino'
import { ensureTopics } from '../../indexer/topics.ts'
import { kafkaSource } from '../../src/core/kafka/source.ts'
import { AccountKeyStore } from '../../src/core/redis/accountKeyStore.ts'
import { startSettings } from '../../src/settings/startSettings.ts'
import { testConfig } from './config.ts'
import { eventually, succeeds } from './eventually.ts'
import { send, startInProcess, type TestAnswer, type TestRequest } from './inProcess.ts'
import { useStarted } from './lifecycle.ts'
import { ownNames } from './names.ts'
import { connectReal } from './redisPair.ts'
import { type Claims, signInClaims, signInSettings, signToken } from './signIns.ts'

export type { TestAnswer as SettingsAnswer } from './inProcess.ts'

type Named = Readonly<Record<string, string>>
/** A browser as the server sees it: keeps cookies and submits the forms of its page. */
export type Visitor = {
  readonly jar: Map<string, string>
  get(path: string, headers?: Named): Promise<TestAnswer>
  /** Submits the form of the page at `/keys`, or one with other hidden fields. */
  post(path: string, fields: Named, headers?: Named): Promise<TestAnswer>
  /** The hidden fields of the page that creates keys: `csrf` and `once`. */
  hidden(): Promise<{ csrf: string; once: string }>
}

export type TestSettings = Awaited<ReturnType<typeof startTestSettings>>

/** The names, topics and a key view for settings areas of one test file. */
export async function prepareSettings(): Promise<Record<string, string>> {
  const names = ownNames()
  const config = testConfig(names)
  const kafka = new kafkajs.Kafka({ brokers: config.KAFKA_BROKERS, logLevel: kafkajs.logLevel.NOTHING })
  const source = kafkaSource(kafka)
  // A broker may not know a topic for a moment after creating it.
  await eventually(() => succeeds(ensureTopics(source, config, pino({ level: 'silent' }))))
  await source.close()
  const link = await connectReal(config.INDEX_PREFIX)
  await (await new AccountKeyStore(link).beginReplay('test')).complete()
  await link.close()
  return names
}

/** Starts the settings area in this process. */
export async function startTestSettings(
  settings: Readonly<Record<string, string>>,
  { nowMs = Date.now, awaitReady = true }: { nowMs?: () => number; awaitReady?: boolean } = {},
) {
  const all = { ...signInSettings, ...settings }
  const { config, port, log, close } = await startInProcess((service) => startSettings(service, nowMs), all, awaitReady)
  const redis = await connectReal(config.INDEX_PREFIX)
  const origin = config.SETTINGS_URL ?? `http://127.0.0.1:${port}`
  const area = { origin, send: (target: string, options?: TestRequest) => send(port, target, options) }
  return {
    ...area,
    redis,
    redisKeys: redis.keys,
    /** The log so far. */
    log,
    visitor: () => visitor(area),
    /** A visitor that has signed in. */
    signIn: (changes?: Claims) => signIn(area, nowMs(), changes),
    close: async (): Promise<void> => {
      await close()
      await redis.close()
    },
  }
}

/** A settings area for all tests of a file, and its names. */
export function useSettings(settings = (): Named => ({})): { readonly names: Named; readonly area: TestSettings } {
  const names: Record<string, string> = {}
  beforeAll(async () => void Object.assign(names, await prepareSettings()))
  return { names, area: useStarted('the settings area', () => startTestSettings({ ...names, ...settings() })) }
}

/** Signs in to a settings area that runs as another process. */
export const signInAt = (origin: string, changes: Claims): Promise<Visitor> => {
  const port = Number(new URL(origin).port)
  return signIn({ origin, send: (target, options) => send(port, target, options) }, Date.now(), changes)
}

type Area = { readonly origin: string; send(target: string, request?: TestRequest): Promise<TestAnswer> }

async function signIn(area: Area, nowMs: number, changes?: Claims): Promise<Visitor> {
  const visiting = visitor(area)
  const token = await signToken(signInClaims(nowMs, changes))
  const { status } = await visiting.get(`/sign-in?token=${token}`)
  if (status !== 303) throw new Error(`signing in gave ${status}`)
  return visiting
}

function visitor(area: Area): Visitor {
  const jar = new Map<string, string>()
  const exchange = async (path: string, options: TestRequest): Promise<TestAnswer> => {
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
export const plaintextIn = ({ text }: Pick<TestAnswer, 'text'>): string =>
  /rqp_acct_[A-Za-z0-9_-]{43}/.exec(text)?.[0] ?? ''

import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { z } from 'zod'
import type { Problem } from '../model/result.ts'

/** The engines that a process may need, by the variable with their address. */
export type Engine = 'ELASTICSEARCH_URL' | 'KAFKA_BROKERS' | 'REDIS_URL'

/** What a process needs: engines, and how team owners sign in. */
export type Need = Engine | 'sign-in'

/** A variable that is empty counts as one that is not set. */
const setting = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((value) => (value === '' ? undefined : value), schema)
const optionalText = setting(z.string().optional())
const text = (fallback: string) => setting(z.string().default(fallback))
const integer = (min: number, max: number) =>
  z
    .string()
    .refine((digits) => /^\d+$/.test(digits) && Number(digits) >= min && Number(digits) <= max, {
      error: `must be an integer from ${min} to ${max}`,
    })
    .transform(Number)
const port = integer(0, 65_535)
const mebibyte = 1024 * 1024
const itemsOf = (value: string | undefined): string[] =>
  (value ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
const list = setting(z.string().optional()).transform(itemsOf)
const hostsAndPorts = list.pipe(
  z.array(z.string().regex(/^[^\s/]+:\d{1,5}$/, 'must be host:port, separated by commas')),
)
const topic = (fallback: string) =>
  setting(
    z
      .string()
      .regex(/^(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}$/, 'must be a Kafka topic name')
      .default(fallback),
  )
/** A host name whose last label is a number would be read as an IP address. */
const hostNamePattern = /^(?=.{1,253}$)(?:(?![-.])[\w-]{0,62}\w\.)*(?!\d+$)(?!-)[\w-]{0,62}\w$/
const isHostName = (value: string): boolean => hostNamePattern.test(value)
const host = z
  .string()
  .refine((value) => isIP(value) !== 0 || isHostName(value), 'must be an IP address or a host name, without a port')
const isBaseUrl = (value: string): boolean =>
  /^https?:$/.test(URL.parse(value)?.protocol ?? '') && /^[^?#]*\/api\/v1$/.test(value)
const isLoopback = (hostname: string): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
/** Sign-ins must not be read or changed in transit. */
const isSecureUrl = (value: string): boolean => {
  const url = URL.parse(value)
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))
}
const isSecureOrigin = (value: string): boolean =>
  isSecureUrl(value) && URL.parse(value)?.href === `${URL.parse(value)?.origin}/`
const secureUrlRule = 'must be an https:// URL, or an http:// one of a loopback host'
const minSecretBytes = 32
const file = optionalText.transform((path, context) => {
  if (path === undefined) return undefined
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    context.addIssue(`cannot be read: ${(error as Error).message}`)
    return z.NEVER
  }
})

const defaultTopics = {
  TOPIC_FORMS: 'forms',
  TOPIC_SUBMISSIONS: 'submissions',
  TOPIC_ACCOUNT_KEYS: 'account-keys',
  TOPIC_DEAD_LETTERS: 'dead-letters',
  TOPIC_KEY_AUDIT: 'account-key-audit',
  TOPIC_KEY_MEMORY: 'account-keys-memory',
} as const

const environmentSchema = z.object({
  PORT: setting(port.optional()),
  HOST: setting(host.optional()),
  BASE_URL: setting(z.string().refine(isBaseUrl, 'must be an http:// or https:// URL that ends in /api/v1').optional()),
  ADMIN_PORT: setting(port.optional()),
  ADMIN_HOST: setting(host.default('127.0.0.1')),
  ADMIN_ALLOWED_HOSTS: list.pipe(
    z.array(z.string().refine(isHostName, 'must be host names without ports, separated by commas')),
  ),
  LOG_LEVEL: setting(z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info')),
  ELASTICSEARCH_URL: list.pipe(z.array(z.url({ protocol: /^https?$/, error: 'must be http:// or https:// URLs' }))),
  ELASTICSEARCH_USERNAME: optionalText,
  ELASTICSEARCH_PASSWORD: optionalText,
  ELASTICSEARCH_API_KEY: optionalText,
  ELASTICSEARCH_CA_FILE: file,
  KAFKA_BROKERS: hostsAndPorts,
  KAFKA_SSL_CA_FILE: file,
  KAFKA_SASL_MECHANISM: setting(z.enum(['plain', 'scram-sha-256', 'scram-sha-512']).optional()),
  KAFKA_SASL_USERNAME: optionalText,
  KAFKA_SASL_PASSWORD: optionalText,
  REDIS_URL: setting(z.url({ protocol: /^rediss?$/, error: 'must be a redis:// or rediss:// URL' }).optional()),
  REDIS_SENTINELS: hostsAndPorts,
  REDIS_SENTINEL_NAME: optionalText,
  REDIS_CA_FILE: file,
  INDEX_PREFIX: setting(
    z
      .string()
      .regex(/^[a-z0-9][a-z0-9_-]{0,99}$/, 'must be 1 to 100 of a-z 0-9 _ -, beginning with a letter or digit')
      .default('tidemark'),
  ),
  INDEX_SHARDS: setting(integer(1, 1_024).default(1)),
  CONSUMER_GROUP: text('tidemark-indexer'),
  TOPIC_FORMS: topic(defaultTopics.TOPIC_FORMS),
  TOPIC_SUBMISSIONS: topic(defaultTopics.TOPIC_SUBMISSIONS),
  TOPIC_ACCOUNT_KEYS: topic(defaultTopics.TOPIC_ACCOUNT_KEYS),
  TOPIC_DEAD_LETTERS: topic(defaultTopics.TOPIC_DEAD_LETTERS),
  TOPIC_KEY_AUDIT: topic(defaultTopics.TOPIC_KEY_AUDIT),
  TOPIC_KEY_MEMORY: topic(defaultTopics.TOPIC_KEY_MEMORY),
  MAX_IN_FLIGHT_BYTES: setting(integer(mebibyte, 1024 * 1024 * mebibyte).default(64 * mebibyte)),
  MAX_RECORDS_PER_SECOND: setting(integer(1, 1_000_000_000).optional()),
  RATE_LIMIT_PER_MINUTE: setting(integer(1, 1_000_000_000).default(120)),
  ANSWER_CACHE_BYTES: setting(integer(0, 1024 * 1024 * mebibyte).default(64 * mebibyte)),
  DEEP_PAGE_FROM: setting(integer(1, 1_000_000_000).default(1_000)),
  SETTINGS_URL: setting(
    z
      .string()
      .refine(isSecureOrigin, `${secureUrlRule}, without a path`)
      .transform((url) => new URL(url).origin)
      .optional(),
  ),
  SIGN_IN_SECRET: setting(
    z
      .string()
      .refine((secret) => Buffer.byteLength(secret) >= minSecretBytes, `must have at least ${minSecretBytes} bytes`)
      .optional(),
  ),
  SIGN_IN_JWKS_URL: setting(z.string().refine(isSecureUrl, secureUrlRule).optional()),
  SIGN_IN_ISSUER: optionalText,
  SIGN_IN_AUDIENCE: text('tidemark-settings'),
  SIGN_IN_PAGE: setting(z.string().refine(isSecureUrl, secureUrlRule).optional()),
})

export type Config = z.output<typeof environmentSchema>

/** The variables of an environment, such as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>

/**
 * Reads and validates the whole environment. Engine addresses that it lacks are taken from `enginesFile`, which `npm run engines`
 * writes. Returns every problem at once, each with the variable's name as its path.
 */
export function readConfig(
  environment: Environment,
  needed: readonly Need[],
  enginesFile = 'var/engines.env',
): { readonly ok: true; readonly config: Config } | { readonly ok: false; readonly problems: readonly Problem[] } {
  const merged = withMemoryTopic({ ...readEnginesFile(enginesFile), ...withoutEmpty(environment) })
  const parsed = environmentSchema.safeParse(merged)
  const problems: Problem[] = parsed.success
    ? []
    : parsed.error.issues.map((issue) => ({ path: String(issue.path[0]), rule: issue.message }))
  for (const name of needed) {
    if (name === 'sign-in') problems.push(...missingForSignIn(merged))
    else if (isBlank(merged[name]) && (name !== 'REDIS_URL' || isBlank(merged['REDIS_SENTINELS'])))
      problems.push({ path: name, rule: `is not set, and ${enginesFile} does not name it` })
  }
  problems.push(...combinationProblems(merged))
  return parsed.success && problems.length === 0 ? { ok: true, config: parsed.data } : { ok: false, problems }
}

function missingForSignIn(environment: Environment): Problem[] {
  const problems: Problem[] = []
  if (environment['SIGN_IN_ISSUER'] === undefined) problems.push({ path: 'SIGN_IN_ISSUER', rule: 'is not set' })
  if (environment['SIGN_IN_SECRET'] === undefined && environment['SIGN_IN_JWKS_URL'] === undefined)
    problems.push({ path: 'SIGN_IN_SECRET', rule: 'is not set, and neither is SIGN_IN_JWKS_URL' })
  return problems
}

function combinationProblems(environment: Environment): Problem[] {
  const problems: Problem[] = []
  const together = (names: string[]): void => {
    const missing = names.filter((name) => environment[name] === undefined)
    if (missing.length === names.length) return
    for (const name of missing)
      problems.push({
        path: name,
        rule: `must be set together with ${names.filter((other) => other !== name).join(', ')}`,
      })
  }
  together(['ELASTICSEARCH_USERNAME', 'ELASTICSEARCH_PASSWORD'])
  together(['REDIS_SENTINELS', 'REDIS_SENTINEL_NAME'])
  together(['KAFKA_SASL_MECHANISM', 'KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD'])
  if (environment['ELASTICSEARCH_API_KEY'] !== undefined && environment['ELASTICSEARCH_USERNAME'] !== undefined)
    problems.push({ path: 'ELASTICSEARCH_API_KEY', rule: 'must not be set together with ELASTICSEARCH_USERNAME' })
  for (const [path, name, protocol] of [
    ['ELASTICSEARCH_CA_FILE', 'ELASTICSEARCH_URL', 'https:'],
    ['REDIS_CA_FILE', 'REDIS_URL', 'rediss:'],
  ] as const) {
    const urls = itemsOf(environment[name])
    if (environment[path] !== undefined && urls.some((url) => URL.parse(url)?.protocol !== protocol))
      problems.push({ path, rule: `is set, but ${name} is not ${protocol}//: nothing would be encrypted` })
  }
  if (environment['SIGN_IN_SECRET'] !== undefined && environment['SIGN_IN_JWKS_URL'] !== undefined)
    problems.push({ path: 'SIGN_IN_SECRET', rule: 'must not be set together with SIGN_IN_JWKS_URL' })
  const topics = [
    'TOPIC_ACCOUNT_KEYS',
    'TOPIC_DEAD_LETTERS',
    'TOPIC_FORMS',
    'TOPIC_KEY_AUDIT',
    'TOPIC_KEY_MEMORY',
    'TOPIC_SUBMISSIONS',
  ] as const
  for (const name of topics) {
    const twin = topics.find((other) => other < name && topicOf(environment, other) === topicOf(environment, name))
    if (twin === undefined) continue
    const [path, other] = environment[name] === undefined ? [twin, name] : [name, twin]
    problems.push({ path, rule: `must differ from ${other}` })
  }
  return problems
}

/** The memory topic belongs to one topic of account keys, so its default name derives from that topic's. */
const withMemoryTopic = (environment: Environment): Environment => ({
  TOPIC_KEY_MEMORY: `${topicOf(environment, 'TOPIC_ACCOUNT_KEYS')}-memory`,
  ...environment,
})

const topicOf = (environment: Environment, name: keyof typeof defaultTopics): string =>
  environment[name] ?? defaultTopics[name]

/** Whether a value lists nothing, such as commas alone. */
const isBlank = (value: string | undefined): boolean => itemsOf(value).length === 0

const withoutEmpty = (environment: Environment): Environment =>
  Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''))

function readEnginesFile(path: string): Environment {
  try {
    const lines = readFileSync(path, 'utf8').split('\n')
    return Object.fromEntries(lines.flatMap((line) => (line.includes('=') ? [splitOnce(line)] : [])))
  } catch {
    return {}
  }
}

function splitOnce(line: string): [string, string] {
  const at = line.indexOf('=')
  return [line.slice(0, at).trim(), line.slice(at + 1).trim()]
}

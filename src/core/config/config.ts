import { createPrivateKey, X509Certificate } from 'node:crypto'
import { z } from 'zod'
import type { Problem } from '../model/schema.ts'
import * as values from './configValues.ts'
import {
  type Environment,
  fileVariables,
  type Read,
  type Rereading,
  readSecretFiles,
  rereading,
} from './secretFiles.ts'

/** Engines, named by the variable with their address. */
export type Engine = 'ELASTICSEARCH_URL' | 'KAFKA_BROKERS' | 'REDIS_URL'

/** Required configuration: an engine, or the sign-in of team owners. */
export type Need = Engine | 'sign-in'

const topics = {
  TOPIC_FORMS: values.topic('forms'),
  TOPIC_SUBMISSIONS: values.topic('submissions'),
  TOPIC_ACCOUNT_KEYS: values.topic('account-keys'),
  TOPIC_DEAD_LETTERS: values.topic('dead-letters'),
  TOPIC_KEY_AUDIT: values.topic('account-key-audit'),
}

const mebibyte = 1024 * 1024

const environmentSchema = z.object({
  PORT: values.setting(values.port.optional()),
  HOST: values.setting(values.host.optional()),
  BASE_URL: values.setting(values.baseUrl.optional()),
  ADMIN_PORT: values.setting(values.port.optional()),
  ADMIN_HOST: values.setting(values.host.default('127.0.0.1')),
  ADMIN_ALLOWED_HOSTS: values.hostNames,
  DRAIN_MS: values.setting(values.integer(0, 600_000).default(0)),
  LOG_LEVEL: values.setting(z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info')),
  ELASTICSEARCH_URL: values.elasticsearchUrls,
  ELASTICSEARCH_USERNAME: values.optionalText,
  ELASTICSEARCH_PASSWORD: values.optionalText,
  ELASTICSEARCH_API_KEY: values.setting(values.apiKey.optional()),
  ELASTICSEARCH_CA_FILE: values.certificates,
  KAFKA_BROKERS: values.brokers,
  KAFKA_SSL: values.flag,
  KAFKA_SSL_CA_FILE: values.certificates,
  KAFKA_SSL_CERT_FILE: values.certificates,
  KAFKA_SSL_KEY_FILE: values.privateKey,
  KAFKA_SASL_MECHANISM: values.setting(
    z.enum(['plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer', 'aws-msk-iam']).optional(),
  ),
  KAFKA_SASL_USERNAME: values.optionalText,
  KAFKA_SASL_PASSWORD: values.optionalText,
  KAFKA_OAUTH_TOKEN_URL: values.setting(values.secureUrl.optional()),
  KAFKA_OAUTH_CLIENT_ID: values.optionalText,
  KAFKA_OAUTH_CLIENT_SECRET: values.optionalText,
  KAFKA_OAUTH_SCOPE: values.optionalText,
  AWS_REGION: values.optionalText,
  REDIS_URL: values.setting(values.redisUrl.optional()),
  REDIS_SENTINELS: values.sentinels,
  REDIS_SENTINEL_NAME: values.optionalText,
  REDIS_CA_FILE: values.certificates,
  REDIS_CERT_FILE: values.certificates,
  REDIS_KEY_FILE: values.privateKey,
  INDEX_PREFIX: values.setting(values.indexPrefix.default('tidemark')),
  INDEX_ANSWERS: values.flagOn,
  INDEX_SHARDS: values.setting(values.integer(1, 1_024).default(1)),
  CONSUMER_GROUP: values.text('tidemark-indexer'),
  ...topics,
  MAX_IN_FLIGHT_BYTES: values.setting(values.integer(mebibyte, 1024 * 1024 * mebibyte).default(64 * mebibyte)),
  MAX_RECORDS_PER_SECOND: values.setting(values.integer(1, 1_000_000_000).optional()),
  RATE_LIMIT_PER_MINUTE: values.setting(values.integer(1, 1_000_000_000).default(120)),
  ANSWER_CACHE_BYTES: values.setting(values.integer(0, 1024 * 1024 * mebibyte).default(64 * mebibyte)),
  DEEP_PAGE_FROM: values.setting(values.integer(1, 1_000_000_000).default(1_000)),
  SETTINGS_URL: values.setting(values.secureOrigin.optional()),
  SIGN_IN_SECRET: values.setting(values.secret.optional()),
  SIGN_IN_JWKS_URL: values.setting(values.secureUrl.optional()),
  SIGN_IN_ISSUER: values.optionalText,
  SIGN_IN_AUDIENCE: values.text('tidemark-settings'),
  SIGN_IN_PAGE: values.setting(values.secureUrl.optional()),
})

type Settings = z.output<typeof environmentSchema>

export type Config = Settings & {
  /** Set where secrets or certificates come from files. */
  readonly files?: Rereading<Config>
}

/** The configuration with what its files hold now. A client asks for it when it connects. */
export const latest = <Given extends Partial<Config>>(config: Given): Given | Config => config.files?.latest() ?? config

/** The names of all variables, without those that only name the file of another one. */
export const variableNames: ReadonlySet<string> = new Set(Object.keys(environmentSchema.shape))

/** Reads and validates the whole environment. Returns every problem at once, each with the variable's name as its path. */
export function readConfig(environment: Environment, needed: readonly Need[]): Read<Config> {
  // An empty variable counts as not set.
  const given: Environment = Object.fromEntries(Object.entries(environment).filter(([, value]) => value))
  const { values: set, problems: ofFiles } = readSecretFiles(given)
  const parsed = environmentSchema.safeParse(set)
  const problems = keyProblems(set)
  for (const { path, message } of parsed.error?.issues ?? []) problems.push({ path: String(path[0]), rule: message })
  const isBlank = (name: string): boolean => values.itemsOf(set[name]).length === 0
  for (const name of needed) {
    if (name === 'sign-in') problems.push(...missingForSignIn(set))
    else if (isBlank(name) && (name !== 'REDIS_URL' || isBlank('REDIS_SENTINELS')))
      problems.push({ path: name, rule: 'is not set' })
  }
  problems.push(...combinationProblems(set), ...unknownNameProblems(given))
  const all = [...ofFiles.values(), ...problems.filter(({ path }) => !ofFiles.has(path))]
  if (!parsed.success || all.length > 0) return { ok: false, problems: all }
  const hasFiles = Object.keys(given).some((name) => name.endsWith('_FILE') && beginsLikeOurs(name))
  const files = rereading<Config>(parsed.data, () => readConfig(environment, needed))
  return { ok: true, config: { ...parsed.data, ...(hasFiles && { files }) } }
}

const clientCertificates = [
  ['KAFKA_SSL_CERT_FILE', 'KAFKA_SSL_KEY_FILE'],
  ['REDIS_CERT_FILE', 'REDIS_KEY_FILE'],
] as const
/** Variables that are set together or not at all. */
const together = [
  ['ELASTICSEARCH_USERNAME', 'ELASTICSEARCH_PASSWORD'],
  ['REDIS_SENTINELS', 'REDIS_SENTINEL_NAME'],
  ...clientCertificates,
]
/** Mechanisms of Kafka, and the variables that they alone read. */
const ofMechanisms = [
  { mechanisms: ['plain', 'scram-sha-256', 'scram-sha-512'], names: ['KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD'] },
  {
    mechanisms: ['oauthbearer'],
    names: ['KAFKA_OAUTH_TOKEN_URL', 'KAFKA_OAUTH_CLIENT_ID', 'KAFKA_OAUTH_CLIENT_SECRET', 'KAFKA_OAUTH_SCOPE'],
  },
  { mechanisms: ['aws-msk-iam'], names: ['AWS_REGION'] },
]
/** Alternatives: if both were set, one would be ignored. */
const apart = [
  ['ELASTICSEARCH_API_KEY', 'ELASTICSEARCH_USERNAME'],
  ['SIGN_IN_SECRET', 'SIGN_IN_JWKS_URL'],
] as const
/** Variables of certificates, and the URLs that must then use TLS. */
const encrypted = [
  ['ELASTICSEARCH_CA_FILE', 'ELASTICSEARCH_URL', 'https:'],
  ['REDIS_CA_FILE', 'REDIS_URL', 'rediss:'],
  ['REDIS_CERT_FILE', 'REDIS_URL', 'rediss:'],
] as const

/** Problems of variables that are valid alone but not together. */
function combinationProblems(environment: Environment): Problem[] {
  const problems: Problem[] = []
  const isSet = (name: string): boolean => environment[name] !== undefined
  const tell = (path: string, rule: string, isWrong: boolean): unknown => isWrong && problems.push({ path, rule })
  for (const names of together) {
    const missing = names.filter((name) => !isSet(name))
    for (const path of missing) {
      const others = names.filter((name) => name !== path).join(', ')
      tell(path, `must be set together with ${others}`, missing.length < names.length)
    }
  }
  for (const [path, other] of apart) tell(path, `must not be set together with ${other}`, isSet(path) && isSet(other))
  for (const [path, name, protocol] of encrypted) {
    const isPlain = values.itemsOf(environment[name]).some((url) => URL.parse(url)?.protocol !== protocol)
    tell(path, `is set, but ${name} is not ${protocol}//: nothing would be encrypted`, isSet(path) && isPlain)
  }
  const isPlain = environment['KAFKA_SSL'] === 'false'
  for (const path of ['KAFKA_SSL_CA_FILE', 'KAFKA_SSL_CERT_FILE'])
    tell(path, 'is set, but KAFKA_SSL is false: nothing would be encrypted', isSet(path) && isPlain)
  const users = usersIn(values.itemsOf(environment['ELASTICSEARCH_URL']))
  for (const other of ['ELASTICSEARCH_USERNAME', 'ELASTICSEARCH_API_KEY'])
    tell('ELASTICSEARCH_URL', `must not name a user together with ${other}`, users.length > 0 && isSet(other))
  // The client would send the credentials of the first URL to every node.
  tell('ELASTICSEARCH_URL', 'must not name several users', new Set(users).size > 1)
  return [...problems, ...mechanismProblems(environment), ...topicProblems(environment)]
}

/** A client certificate needs its own key; told also where other variables are wrong. */
const keyProblems = (set: Environment): Problem[] =>
  clientCertificates.flatMap(([certificate, path]) => {
    const [pem, key] = [
      values.certificates.safeParse(set[certificate]).data,
      values.privateKey.safeParse(set[path]).data,
    ]
    const isOther =
      pem !== undefined && key !== undefined && !new X509Certificate(pem).checkPrivateKey(createPrivateKey(key))
    return isOther ? [{ path, rule: `holds another key than that of ${certificate}` }] : []
  })

/** A mechanism of Kafka needs its own variables; those of another one would be ignored. */
function mechanismProblems(environment: Environment): Problem[] {
  const { KAFKA_SASL_MECHANISM: mechanism = '', KAFKA_SSL, KAFKA_SSL_CA_FILE, KAFKA_SSL_CERT_FILE } = environment
  const isOpen = KAFKA_SSL !== 'true' && (KAFKA_SSL_CA_FILE ?? KAFKA_SSL_CERT_FILE) === undefined
  const unencrypted = { path: 'KAFKA_SSL', rule: 'must be true for KAFKA_SASL_MECHANISM=aws-msk-iam' }
  const problems = mechanism === 'aws-msk-iam' && isOpen ? [unencrypted] : []
  for (const { mechanisms, names } of ofMechanisms) {
    const isChosen = mechanisms.includes(mechanism)
    const rule = isChosen
      ? `must be set for KAFKA_SASL_MECHANISM=${mechanism}`
      : `is only for KAFKA_SASL_MECHANISM=${mechanisms.join(' or ')}`
    // A scope may be left out; other programs read the region, too.
    const exempt = isChosen ? 'KAFKA_OAUTH_SCOPE' : 'AWS_REGION'
    const wrong = names.filter((name) => name !== exempt && isChosen === (environment[name] === undefined))
    problems.push(...wrong.map((path) => ({ path, rule })))
  }
  return problems
}

/** No two variables may name the same topic. */
function topicProblems(environment: Environment): Problem[] {
  const named = Object.entries(topics).map(
    ([name, topic]) => [name, environment[name] ?? topic.parse(undefined)] as const,
  )
  return named.toSorted().flatMap(([name, topic]) => {
    const twin = named.find(([other, its]) => other < name && its === topic)?.[0]
    if (twin === undefined) return []
    const [path, other] = environment[name] === undefined ? [twin, name] : [name, twin]
    return [{ path, rule: `must differ from ${other}` }]
  })
}

const usersIn = (urls: readonly string[]): string[] =>
  urls.flatMap((url) => {
    const { username = '', password = '' } = URL.parse(url) ?? {}
    return username === '' ? [] : [`${username}:${password}`]
  })

/** Missing variables without which the settings area cannot verify a sign-in link. */
function missingForSignIn(environment: Environment): Problem[] {
  const problems: Problem[] = []
  if (environment['SIGN_IN_ISSUER'] === undefined) problems.push({ path: 'SIGN_IN_ISSUER', rule: 'is not set' })
  if (environment['SIGN_IN_SECRET'] === undefined && environment['SIGN_IN_JWKS_URL'] === undefined)
    problems.push({ path: 'SIGN_IN_SECRET', rule: 'is not set, and neither is SIGN_IN_JWKS_URL' })
  return problems
}

/**
 * Prefixes of our variables, except `PORT` and `HOST`, which are common in names of other software. A prefix without a trailing
 * underscore is compared without underscores, so that `MAX_INFLIGHT_BYTES` begins like `MAX_IN_FLIGHT_BYTES`.
 */
const beginnings = [
  ...['ADMIN_', 'ELASTICSEARCH_', 'KAFKA_', 'REDIS_', 'INDEX_', 'TOPIC_', 'SIGN_IN_', 'SETTINGS_URL', 'BASE_URL'],
  ...['LOG_LEVEL', 'CONSUMER_GROUP', 'MAX_IN_FLIGHT', 'MAX_RECORDS_PER', 'RATE_LIMIT', 'ANSWER_CACHE', 'DEEP_PAGE'],
  'DRAIN_MS',
]

/**
 * Names that other software sets: Kubernetes for each service of the namespace (for a service `redis`: `REDIS_PORT=tcp://…`,
 * `REDIS_PORT_6379_TCP_ADDR`, `REDIS_SERVICE_HOST`), engines installed on the same machine, and `deploy/images.env`.
 */
const ofOthers = [
  /_SERVICE_(HOST|PORT(_\w+)?)$/,
  /^(?!ADMIN_)\w+_PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?$/,
  /^(ELASTICSEARCH|KAFKA|REDIS)_(\w+_)?(HOME|IMAGE|OPTS|VERSION)$/,
]

/** Refuses unknown names with a prefix of ours: for a misspelt variable, the default would apply silently. */
const unknownNameProblems = (environment: Environment): Problem[] =>
  Object.keys(environment)
    .filter((name) => beginsLikeOurs(name) && !isKnown(name))
    .map((path) => ({ path, rule: 'begins like a variable of Tidemark, but is none' }))

const isKnown = (name: string): boolean =>
  variableNames.has(name) || fileVariables.has(name) || ofOthers.some((pattern) => pattern.test(name))

export const beginsLikeOurs = (name: string): boolean =>
  beginnings.some((beginning) =>
    beginning.endsWith('_') ? name.startsWith(beginning) : bare(name).startsWith(bare(beginning)),
  )

const bare = (name: string): string => name.replaceAll('_', '')

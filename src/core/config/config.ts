import { createPrivateKey, X509Certificate } from 'node:crypto'
import { z } from 'zod'
import type { Problem } from '../model/schema.ts'
import * as values from './configValues.ts'
import {
  type ConfigResult,
  type Environment,
  type ReloadedSettings,
  readSecretFiles,
  reloadedSettings,
} from './secretFiles.ts'
import { beginsLikeOurs, unknownNameProblems } from './unknownNames.ts'

export type Engine = 'ELASTICSEARCH_URL' | 'KAFKA_BROKERS' | 'REDIS_URL'

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
  /** Undefined if no variable names a file. */
  readonly files?: ReloadedSettings<Config>
}

/** With the present content of its files. Clients read it whenever they connect. */
export const latest = <Given extends Partial<Config>>(config: Given): Given | Config => config.files?.latest() ?? config

export const variableNames: ReadonlySet<string> = new Set(Object.keys(environmentSchema.shape))

/** Returns every problem at once, each with the variable's name as its path. */
export function readConfig(environment: Environment, needed: readonly Need[]): ConfigResult<Config> {
  const nonEmpty: Environment = Object.fromEntries(Object.entries(environment).filter(([, value]) => value))
  const { values: withSecrets, problems: fileProblems } = readSecretFiles(nonEmpty)
  const parsed = environmentSchema.safeParse(withSecrets)
  const valueProblems = (parsed.error?.issues ?? []).map(({ path, message }) => {
    return { path: String(path[0]), rule: message }
  })
  const otherProblems = [
    ...keyProblems(withSecrets),
    ...valueProblems,
    ...needed.flatMap((need) => missingFor(need, withSecrets)),
    ...combinationProblems(withSecrets),
    ...unknownNameProblems(nonEmpty, variableNames),
  ]
  // A variable whose file cannot be read seems not set: only the file's problem is reported.
  const problems = [...fileProblems.values(), ...otherProblems.filter(({ path }) => !fileProblems.has(path))]
  if (!parsed.success || problems.length > 0) return { ok: false, problems }
  const hasFiles = Object.keys(nonEmpty).some((name) => name.endsWith('_FILE') && beginsLikeOurs(name))
  if (!hasFiles) return { ok: true, config: parsed.data }
  const files = reloadedSettings<Config>(parsed.data, () => readConfig(environment, needed))
  return { ok: true, config: { ...parsed.data, files } }
}

function missingFor(need: Need, environment: Environment): Problem[] {
  if (need === 'sign-in') return missingForSignIn(environment)
  const isBlank = (name: string): boolean => values.itemsOf(environment[name]).length === 0
  const isMissing = isBlank(need) && (need !== 'REDIS_URL' || isBlank('REDIS_SENTINELS'))
  return isMissing ? [{ path: need, rule: 'is not set' }] : []
}

function missingForSignIn(environment: Environment): Problem[] {
  const problems: Problem[] = []
  if (environment['SIGN_IN_ISSUER'] === undefined) problems.push({ path: 'SIGN_IN_ISSUER', rule: 'is not set' })
  if (environment['SIGN_IN_SECRET'] === undefined && environment['SIGN_IN_JWKS_URL'] === undefined)
    problems.push({ path: 'SIGN_IN_SECRET', rule: 'is not set, and neither is SIGN_IN_JWKS_URL' })
  return problems
}

const clientCertificates = [
  ['KAFKA_SSL_CERT_FILE', 'KAFKA_SSL_KEY_FILE'],
  ['REDIS_CERT_FILE', 'REDIS_KEY_FILE'],
] as const
const setTogether: readonly (readonly string[])[] = [
  ['ELASTICSEARCH_USERNAME', 'ELASTICSEARCH_PASSWORD'],
  ['REDIS_SENTINELS', 'REDIS_SENTINEL_NAME'],
  ...clientCertificates,
]
/** Only these mechanisms read the variables. */
const mechanismVariables = [
  { mechanisms: ['plain', 'scram-sha-256', 'scram-sha-512'], names: ['KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD'] },
  {
    mechanisms: ['oauthbearer'],
    names: ['KAFKA_OAUTH_TOKEN_URL', 'KAFKA_OAUTH_CLIENT_ID', 'KAFKA_OAUTH_CLIENT_SECRET', 'KAFKA_OAUTH_SCOPE'],
  },
  { mechanisms: ['aws-msk-iam'], names: ['AWS_REGION'] },
]
/** Only one of each pair may be set: otherwise the second would be ignored. */
const alternatives = [
  ['ELASTICSEARCH_API_KEY', 'ELASTICSEARCH_USERNAME'],
  ['SIGN_IN_SECRET', 'SIGN_IN_JWKS_URL'],
] as const
/** A variable of certificates, and the URL that must then use TLS. */
const requiringTls = [
  ['ELASTICSEARCH_CA_FILE', 'ELASTICSEARCH_URL', 'https:'],
  ['REDIS_CA_FILE', 'REDIS_URL', 'rediss:'],
  ['REDIS_CERT_FILE', 'REDIS_URL', 'rediss:'],
] as const

const combinationProblems = (environment: Environment): Problem[] => [
  ...incompleteProblems(environment),
  ...alternativeProblems(environment),
  ...encryptionProblems(environment),
  ...elasticsearchUserProblems(environment),
  ...mechanismProblems(environment),
  ...topicProblems(environment),
]

const incompleteProblems = (environment: Environment): Problem[] =>
  setTogether.flatMap((names) => {
    const missing = names.filter((name) => environment[name] === undefined)
    if (missing.length === names.length) return []
    return missing.map((path) => {
      const others = names.filter((name) => name !== path).join(', ')
      return { path, rule: `must be set together with ${others}` }
    })
  })

const alternativeProblems = (environment: Environment): Problem[] =>
  alternatives
    .filter(([first, second]) => environment[first] !== undefined && environment[second] !== undefined)
    .map(([path, other]) => ({ path, rule: `must not be set together with ${other}` }))

function encryptionProblems(environment: Environment): Problem[] {
  const problems: Problem[] = []
  for (const [path, name, protocol] of requiringTls) {
    const isPlain = values.itemsOf(environment[name]).some((url) => URL.parse(url)?.protocol !== protocol)
    if (environment[path] !== undefined && isPlain)
      problems.push({ path, rule: `is set, but ${name} is not ${protocol}//: nothing would be encrypted` })
  }
  if (environment['KAFKA_SSL'] === 'false')
    for (const path of ['KAFKA_SSL_CA_FILE', 'KAFKA_SSL_CERT_FILE'])
      if (environment[path] !== undefined)
        problems.push({ path, rule: 'is set, but KAFKA_SSL is false: nothing would be encrypted' })
  return problems
}

function elasticsearchUserProblems(environment: Environment): Problem[] {
  const path = 'ELASTICSEARCH_URL'
  const users = usersIn(values.itemsOf(environment[path]))
  if (users.length === 0) return []
  const problems = ['ELASTICSEARCH_USERNAME', 'ELASTICSEARCH_API_KEY']
    .filter((other) => environment[other] !== undefined)
    .map((other) => ({ path, rule: `must not name a user together with ${other}` }))
  // The client would send the credentials of the first URL to every node.
  if (new Set(users).size > 1) problems.push({ path, rule: 'must not name several users' })
  return problems
}

const usersIn = (urls: readonly string[]): string[] =>
  urls.flatMap((url) => {
    const { username = '', password = '' } = URL.parse(url) ?? {}
    return username === '' ? [] : [`${username}:${password}`]
  })

const keyProblems = (environment: Environment): Problem[] =>
  clientCertificates.flatMap(([certificate, path]) => {
    // Parsed again: the schema returns no values at all if one variable is invalid.
    const pem = values.certificates.safeParse(environment[certificate]).data
    const key = values.privateKey.safeParse(environment[path]).data
    if (pem === undefined || key === undefined) return []
    const isOwnKey = new X509Certificate(pem).checkPrivateKey(createPrivateKey(key))
    return isOwnKey ? [] : [{ path, rule: `holds another key than that of ${certificate}` }]
  })

/** Missing variables of the chosen mechanism, and variables of others, which would be ignored. */
function mechanismProblems(environment: Environment): Problem[] {
  const { KAFKA_SASL_MECHANISM: mechanism = '', KAFKA_SSL, KAFKA_SSL_CA_FILE, KAFKA_SSL_CERT_FILE } = environment
  const isUnencrypted = KAFKA_SSL !== 'true' && (KAFKA_SSL_CA_FILE ?? KAFKA_SSL_CERT_FILE) === undefined
  const unencrypted = { path: 'KAFKA_SSL', rule: 'must be true for KAFKA_SASL_MECHANISM=aws-msk-iam' }
  const problems = mechanism === 'aws-msk-iam' && isUnencrypted ? [unencrypted] : []
  for (const { mechanisms, names } of mechanismVariables) {
    const isChosen = mechanisms.includes(mechanism)
    const rule = isChosen
      ? `must be set for KAFKA_SASL_MECHANISM=${mechanism}`
      : `is only for KAFKA_SASL_MECHANISM=${mechanisms.join(' or ')}`
    // The scope is optional. AWS_REGION may be set for other programs.
    const exempt = isChosen ? 'KAFKA_OAUTH_SCOPE' : 'AWS_REGION'
    const wrong = names.filter((name) => {
      const isSet = environment[name] !== undefined
      return name !== exempt && isSet !== isChosen
    })
    problems.push(...wrong.map((path) => ({ path, rule })))
  }
  return problems
}

function topicProblems(environment: Environment): Problem[] {
  const topicOf = new Map(
    Object.entries(topics).map(([name, topic]) => [name, environment[name] ?? topic.parse(undefined)]),
  )
  const names = [...topicOf.keys()].toSorted()
  return names.flatMap((name, at) => {
    const twin = names.slice(0, at).find((earlier) => topicOf.get(earlier) === topicOf.get(name))
    if (twin === undefined) return []
    // One of the two may have its default.
    const isDefault = environment[name] === undefined
    return [{ path: isDefault ? twin : name, rule: `must differ from ${isDefault ? name : twin}` }]
  })
}

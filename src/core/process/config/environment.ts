import { readFileSync } from 'node:fs'
import type { Problem } from '../../model/result.ts'

/** The variables of an environment, such as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The items of a list, which commas separate. */
export const itemsOf = (value: string | undefined): string[] =>
  (value ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')

/** Whether a value lists nothing, such as commas alone. */
export const isBlank = (value: string | undefined): boolean => itemsOf(value).length === 0

/** A variable that is empty counts as one that is not set. */
export const withoutEmpty = (environment: Environment): Environment =>
  Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''))

/** The engines' addresses that `npm run engines` has written; nothing where there is no such file. */
export function readEnginesFile(path: string): Environment {
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

/** What the settings area needs to check an owner's link. */
export function missingForSignIn(environment: Environment): Problem[] {
  const problems: Problem[] = []
  if (environment['SIGN_IN_ISSUER'] === undefined) problems.push({ path: 'SIGN_IN_ISSUER', rule: 'is not set' })
  if (environment['SIGN_IN_SECRET'] === undefined && environment['SIGN_IN_JWKS_URL'] === undefined)
    problems.push({ path: 'SIGN_IN_SECRET', rule: 'is not set, and neither is SIGN_IN_JWKS_URL' })
  return problems
}

/** Variables of which each is right, and which do not go together. */
export function combinationProblems(environment: Environment): Problem[] {
  return [
    ...together(environment, ['ELASTICSEARCH_USERNAME', 'ELASTICSEARCH_PASSWORD']),
    ...together(environment, ['REDIS_SENTINELS', 'REDIS_SENTINEL_NAME']),
    ...together(environment, ['KAFKA_SASL_MECHANISM', 'KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD']),
    ...credentialsProblems(environment),
    ...encryptionProblems(environment),
  ]
}

function together(environment: Environment, names: readonly string[]): Problem[] {
  const missing = names.filter((name) => environment[name] === undefined)
  if (missing.length === names.length) return []
  return missing.map((path) => ({
    path,
    rule: `must be set together with ${names.filter((other) => other !== path).join(', ')}`,
  }))
}

/** Of two ways to say who connects, or who signs in, one would be ignored. */
function credentialsProblems(environment: Environment): Problem[] {
  const apart = (path: string, other: string): Problem[] =>
    environment[path] === undefined || environment[other] === undefined
      ? []
      : [{ path, rule: `must not be set together with ${other}` }]
  const users = new Set(
    itemsOf(environment['ELASTICSEARCH_URL']).flatMap((url) => {
      const { username = '', password = '' } = URL.parse(url) ?? {}
      return username === '' ? [] : [`${username}:${password}`]
    }),
  )
  const others = ['ELASTICSEARCH_USERNAME', 'ELASTICSEARCH_API_KEY'].filter((name) => environment[name] !== undefined)
  return [
    ...apart('ELASTICSEARCH_API_KEY', 'ELASTICSEARCH_USERNAME'),
    ...apart('SIGN_IN_SECRET', 'SIGN_IN_JWKS_URL'),
    ...(users.size > 0 ? others : []).map((other) => ({
      path: 'ELASTICSEARCH_URL',
      rule: `must not name a user together with ${other}`,
    })),
    // The client would send the first one to every node.
    ...(users.size > 1 ? [{ path: 'ELASTICSEARCH_URL', rule: 'must not name several users' }] : []),
  ]
}

/** Authorities for a link that is not encrypted: whoever sets them expects that it is. */
function encryptionProblems(environment: Environment): Problem[] {
  const problems: Problem[] = []
  for (const [path, name, protocol] of [
    ['ELASTICSEARCH_CA_FILE', 'ELASTICSEARCH_URL', 'https:'],
    ['REDIS_CA_FILE', 'REDIS_URL', 'rediss:'],
  ] as const) {
    const urls = itemsOf(environment[name])
    if (environment[path] !== undefined && urls.some((url) => URL.parse(url)?.protocol !== protocol))
      problems.push({ path, rule: `is set, but ${name} is not ${protocol}//: nothing would be encrypted` })
  }
  if (environment['KAFKA_SSL_CA_FILE'] !== undefined && environment['KAFKA_SSL'] === 'false')
    problems.push({ path: 'KAFKA_SSL_CA_FILE', rule: 'is set, but KAFKA_SSL is false: nothing would be encrypted' })
  return problems
}

export const defaultTopics = {
  TOPIC_FORMS: 'forms',
  TOPIC_SUBMISSIONS: 'submissions',
  TOPIC_ACCOUNT_KEYS: 'account-keys',
  TOPIC_DEAD_LETTERS: 'dead-letters',
  TOPIC_KEY_AUDIT: 'account-key-audit',
} as const

/** No two variables may name the same topic. */
export function topicProblems(environment: Environment): Problem[] {
  const problems: Problem[] = []
  const topics = (Object.keys(defaultTopics) as (keyof typeof defaultTopics)[]).sort()
  for (const name of topics) {
    const twin = topics.find((other) => other < name && topicOf(environment, other) === topicOf(environment, name))
    if (twin === undefined) continue
    const [path, other] = environment[name] === undefined ? [twin, name] : [name, twin]
    problems.push({ path, rule: `must differ from ${other}` })
  }
  return problems
}

const topicOf = (environment: Environment, name: keyof typeof defaultTopics): string =>
  environment[name] ?? defaultTopics[name]

/**
 * How our names begin, but for `PORT` and `HOST`, with which many names of others begin. A beginning that ends in an underscore is ours
 * alone; the others are compared without underscores, so that `MAX_INFLIGHT_BYTES` begins like `MAX_IN_FLIGHT_BYTES`.
 */
const beginnings = [
  ...['ADMIN_', 'ELASTICSEARCH_', 'KAFKA_', 'REDIS_', 'INDEX_', 'TOPIC_', 'SIGN_IN_', 'SETTINGS_URL', 'BASE_URL'],
  ...['LOG_LEVEL', 'CONSUMER_GROUP', 'MAX_IN_FLIGHT', 'MAX_RECORDS_PER', 'RATE_LIMIT', 'ANSWER_CACHE', 'DEEP_PAGE'],
  'DRAIN_MS',
]

/**
 * Names that other software sets: Kubernetes for each service of the namespace (a service `redis` gives `REDIS_PORT=tcp://…`,
 * `REDIS_PORT_6379_TCP_ADDR`, `REDIS_SERVICE_HOST`), the engines' own programs on a machine where one is installed, and
 * `deploy/images.env`.
 */
const ofOthers = [
  /_SERVICE_(HOST|PORT(_\w+)?)$/,
  /^(?!ADMIN_)\w+_PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?$/,
  /^(ELASTICSEARCH|KAFKA|REDIS)_(\w+_)?(HOME|IMAGE|OPTS|VERSION)$/,
]

/** A name that begins like one of ours and is none is misspelt: its default would be used instead, without a word. */
export const unknownNameProblems = (environment: Environment, known: ReadonlySet<string>): Problem[] =>
  Object.keys(environment)
    .filter((name) => !known.has(name) && beginsLikeOurs(name) && !ofOthers.some((pattern) => pattern.test(name)))
    .map((path) => ({ path, rule: 'begins like a variable of Tidemark, and is none' }))

export const beginsLikeOurs = (name: string): boolean =>
  beginnings.some((beginning) =>
    beginning.endsWith('_') ? name.startsWith(beginning) : bare(name).startsWith(bare(beginning)),
  )

const bare = (name: string): string => name.replaceAll('_', '')

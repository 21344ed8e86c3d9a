import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import type { Problem } from '../../model/schema.ts'

/** The variables of an environment, such as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The items of a list, which commas separate. */
export const itemsOf = (value: string | undefined): string[] =>
  (value ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')

/** A variable that is empty counts as one that is not set. */
export const withoutEmpty = (environment: Environment): Environment =>
  Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''))

/** The engines' addresses that `npm run engines` has written; nothing where there is no such file. */
export function readEnginesFile(path: string): Environment {
  try {
    return parseEnv(readFileSync(path, 'utf8'))
  } catch {
    return {}
  }
}

/** Variables that are set together or not at all. */
const together = [
  ['ELASTICSEARCH_USERNAME', 'ELASTICSEARCH_PASSWORD'],
  ['REDIS_SENTINELS', 'REDIS_SENTINEL_NAME'],
  ['KAFKA_SASL_MECHANISM', 'KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD'],
]
/** Two ways to say who connects, or who signs in, of which one would be ignored. */
const apart = [
  ['ELASTICSEARCH_API_KEY', 'ELASTICSEARCH_USERNAME'],
  ['SIGN_IN_SECRET', 'SIGN_IN_JWKS_URL'],
] as const
/** Authorities, and the links that they vouch for: whoever sets them expects that these are encrypted. */
const encrypted = [
  ['ELASTICSEARCH_CA_FILE', 'ELASTICSEARCH_URL', 'https:'],
  ['REDIS_CA_FILE', 'REDIS_URL', 'rediss:'],
] as const

export const defaultTopics = {
  TOPIC_FORMS: 'forms',
  TOPIC_SUBMISSIONS: 'submissions',
  TOPIC_ACCOUNT_KEYS: 'account-keys',
  TOPIC_DEAD_LETTERS: 'dead-letters',
  TOPIC_KEY_AUDIT: 'account-key-audit',
} as const

/** Variables of which each is right, and which do not go together. */
export function combinationProblems(environment: Environment): Problem[] {
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
    const isPlain = itemsOf(environment[name]).some((url) => URL.parse(url)?.protocol !== protocol)
    tell(path, `is set, but ${name} is not ${protocol}//: nothing would be encrypted`, isSet(path) && isPlain)
  }
  const isKafkaPlain = isSet('KAFKA_SSL_CA_FILE') && environment['KAFKA_SSL'] === 'false'
  tell('KAFKA_SSL_CA_FILE', 'is set, but KAFKA_SSL is false: nothing would be encrypted', isKafkaPlain)
  const users = usersIn(itemsOf(environment['ELASTICSEARCH_URL']))
  for (const other of ['ELASTICSEARCH_USERNAME', 'ELASTICSEARCH_API_KEY'])
    tell('ELASTICSEARCH_URL', `must not name a user together with ${other}`, users.length > 0 && isSet(other))
  // The client would send the first one to every node.
  tell('ELASTICSEARCH_URL', 'must not name several users', new Set(users).size > 1)
  return [...problems, ...topicProblems(environment)]
}

/** No two variables may name the same topic. */
function topicProblems(environment: Environment): Problem[] {
  const topics = Object.entries({ ...defaultTopics, ...environment }).filter(([name]) => name in defaultTopics)
  return topics.toSorted().flatMap(([name, topic]) => {
    const twin = topics.find(([other, named]) => other < name && named === topic)?.[0]
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

/** What the settings area needs to check an owner's link. */
export function missingForSignIn(environment: Environment): Problem[] {
  const problems: Problem[] = []
  if (environment['SIGN_IN_ISSUER'] === undefined) problems.push({ path: 'SIGN_IN_ISSUER', rule: 'is not set' })
  if (environment['SIGN_IN_SECRET'] === undefined && environment['SIGN_IN_JWKS_URL'] === undefined)
    problems.push({ path: 'SIGN_IN_SECRET', rule: 'is not set, and neither is SIGN_IN_JWKS_URL' })
  return problems
}

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

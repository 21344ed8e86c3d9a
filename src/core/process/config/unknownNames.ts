import type { Problem } from '../../model/result.ts'
import type { Environment } from './environment.ts'

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

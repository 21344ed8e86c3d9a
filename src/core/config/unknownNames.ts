import type { Problem } from '../model/schema.ts'
import { type Environment, fileVariables } from './secretFiles.ts'

/** Otherwise a misspelt variable would silently have its default. */
export const unknownNameProblems = (environment: Environment, variableNames: ReadonlySet<string>): Problem[] =>
  Object.keys(environment)
    .filter((name) => beginsLikeOurs(name) && !isKnown(name, variableNames))
    .map((path) => ({ path, rule: 'begins like a variable of Tidemark, but is none' }))

export const beginsLikeOurs = (name: string): boolean =>
  beginnings.some((beginning) =>
    beginning.endsWith('_') ? name.startsWith(beginning) : bare(name).startsWith(bare(beginning)),
  )

const bare = (name: string): string => name.replaceAll('_', '')

/**
 * Prefixes of our variables, except `PORT` and `HOST`, which other software uses, too. A prefix without a trailing underscore is compared without
 * underscores: `MAX_INFLIGHT_BYTES` begins like `MAX_IN_FLIGHT_BYTES`.
 */
const beginnings = [
  'ADMIN_',
  'ELASTICSEARCH_',
  'KAFKA_',
  'REDIS_',
  'INDEX_',
  'TOPIC_',
  'SIGN_IN_',
  'SETTINGS_URL',
  'BASE_URL',
  'LOG_LEVEL',
  'CONSUMER_GROUP',
  'MAX_IN_FLIGHT',
  'MAX_RECORDS_PER',
  'RATE_LIMIT',
  'ANSWER_CACHE',
  'DEEP_PAGE',
  'DRAIN_MS',
]

const isKnown = (name: string, variableNames: ReadonlySet<string>): boolean =>
  variableNames.has(name) || fileVariables.has(name) || ofOthers.some((pattern) => pattern.test(name))

/**
 * Set by Kubernetes for each service of the namespace (for a service `redis`: `REDIS_PORT=tcp://…`, `REDIS_PORT_6379_TCP_ADDR`, `REDIS_SERVICE_HOST`), by
 * engines on the same machine, and by `deploy/images.env`.
 */
const ofOthers = [
  /_SERVICE_(HOST|PORT(_\w+)?)$/,
  /^(?!ADMIN_)\w+_PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?$/,
  /^(ELASTICSEARCH|KAFKA|REDIS)_(\w+_)?(HOME|IMAGE|OPTS|VERSION)$/,
]

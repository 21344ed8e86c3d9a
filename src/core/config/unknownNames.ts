import type { Problem } from '../model/schema.ts'
import { type Environment, fileVariables } from './secretFiles.ts'

/** Those without a trailing underscore are compared without underscores. `PORT` and `HOST` are missing: other software uses them, too. */
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

/** A misspelt variable would otherwise be ignored, and its default used. */
export const unknownNameProblems = (environment: Environment, variableNames: ReadonlySet<string>): Problem[] =>
  Object.keys(environment)
    .filter((name) => beginsLikeOurs(name) && !isKnown(name, variableNames))
    .map((path) => ({ path, rule: 'begins like a variable of Tidemark, but is none' }))

export const beginsLikeOurs = (name: string): boolean =>
  beginnings.some((beginning) =>
    beginning.endsWith('_')
      ? name.startsWith(beginning)
      : withoutUnderscores(name).startsWith(withoutUnderscores(beginning)),
  )

const withoutUnderscores = (name: string): string => name.replaceAll('_', '')

const isKnown = (name: string, variableNames: ReadonlySet<string>): boolean =>
  variableNames.has(name) || fileVariables.has(name) || foreignNames.some((pattern) => pattern.test(name))

const foreignNames = [
  // Kubernetes, for its service `redis`: REDIS_SERVICE_HOST,
  /_SERVICE_(HOST|PORT(_\w+)?)$/,
  // and REDIS_PORT, REDIS_PORT_6379_TCP_ADDR.
  /^(?!ADMIN_)\w+_PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?$/,
  // Engines on the same machine: KAFKA_HEAP_OPTS. `deploy/images.env`: ELASTICSEARCH_IMAGE.
  /^(ELASTICSEARCH|KAFKA|REDIS)_(\w+_)?(HOME|IMAGE|OPTS|VERSION)$/,
]

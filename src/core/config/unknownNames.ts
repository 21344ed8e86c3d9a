import type { Problem } from '../model/schema.ts'
import { type Environment, fileVariables } from './secretFiles.ts'

/** Otherwise a misspelt variable would silently have its default. */
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

/** Prefixes without a trailing underscore are compared without underscores. `PORT` and `HOST` are missing: other software uses them, too. */
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
  variableNames.has(name) || fileVariables.has(name) || foreignNames.some((pattern) => pattern.test(name))

/** Names set by Kubernetes for each service (`REDIS_PORT=tcp://…` for `redis`), by engines on the same machine, by `deploy/images.env`. */
const foreignNames = [
  /_SERVICE_(HOST|PORT(_\w+)?)$/,
  /^(?!ADMIN_)\w+_PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?$/,
  /^(ELASTICSEARCH|KAFKA|REDIS)_(\w+_)?(HOME|IMAGE|OPTS|VERSION)$/,
]

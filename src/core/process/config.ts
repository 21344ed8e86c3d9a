import { z } from 'zod'
import type { Problem } from '../model/schema.ts'
import {
  combinationProblems,
  defaultTopics,
  type Environment,
  itemsOf,
  missingForSignIn,
  readEnginesFile,
  unknownNameProblems,
  withoutEmpty,
} from './config/environment.ts'
import {
  authorities,
  baseUrl,
  brokers,
  elasticsearchUrls,
  flag,
  host,
  hostNames,
  indexPrefix,
  integer,
  matching,
  optionalText,
  port,
  redisUrl,
  secret,
  secureOrigin,
  secureUrl,
  sentinels,
  setting,
  text,
  topic,
} from './config/values.ts'

export type { Environment } from './config/environment.ts'

/** The engines that a process may need, by the variable with their address. */
export type Engine = 'ELASTICSEARCH_URL' | 'KAFKA_BROKERS' | 'REDIS_URL'

/** What a process needs: engines, and how team owners sign in. */
export type Need = Engine | 'sign-in'

const mebibyte = 1024 * 1024

const environmentSchema = z.object({
  PORT: setting(port.optional()),
  HOST: setting(host.optional()),
  BASE_URL: setting(baseUrl.optional()),
  ADMIN_PORT: setting(port.optional()),
  ADMIN_HOST: setting(host.default('127.0.0.1')),
  ADMIN_ALLOWED_HOSTS: hostNames,
  LOG_LEVEL: setting(z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info')),
  ELASTICSEARCH_URL: elasticsearchUrls,
  ELASTICSEARCH_USERNAME: optionalText,
  ELASTICSEARCH_PASSWORD: optionalText,
  // It is sent in a header.
  ELASTICSEARCH_API_KEY: setting(matching(/^[\x21-\x7e]+$/, 'must be ASCII characters without spaces').optional()),
  ELASTICSEARCH_CA_FILE: authorities,
  KAFKA_BROKERS: brokers,
  KAFKA_SSL: flag,
  KAFKA_SSL_CA_FILE: authorities,
  KAFKA_SASL_MECHANISM: setting(z.enum(['plain', 'scram-sha-256', 'scram-sha-512']).optional()),
  KAFKA_SASL_USERNAME: optionalText,
  KAFKA_SASL_PASSWORD: optionalText,
  REDIS_URL: setting(redisUrl.optional()),
  REDIS_SENTINELS: sentinels,
  REDIS_SENTINEL_NAME: optionalText,
  REDIS_CA_FILE: authorities,
  INDEX_PREFIX: setting(indexPrefix.default('tidemark')),
  INDEX_SHARDS: setting(integer(1, 1_024).default(1)),
  CONSUMER_GROUP: text('tidemark-indexer'),
  TOPIC_FORMS: topic(defaultTopics.TOPIC_FORMS),
  TOPIC_SUBMISSIONS: topic(defaultTopics.TOPIC_SUBMISSIONS),
  TOPIC_ACCOUNT_KEYS: topic(defaultTopics.TOPIC_ACCOUNT_KEYS),
  TOPIC_DEAD_LETTERS: topic(defaultTopics.TOPIC_DEAD_LETTERS),
  TOPIC_KEY_AUDIT: topic(defaultTopics.TOPIC_KEY_AUDIT),
  MAX_IN_FLIGHT_BYTES: setting(integer(mebibyte, 1024 * 1024 * mebibyte).default(64 * mebibyte)),
  MAX_RECORDS_PER_SECOND: setting(integer(1, 1_000_000_000).optional()),
  RATE_LIMIT_PER_MINUTE: setting(integer(1, 1_000_000_000).default(120)),
  ANSWER_CACHE_BYTES: setting(integer(0, 1024 * 1024 * mebibyte).default(64 * mebibyte)),
  DEEP_PAGE_FROM: setting(integer(1, 1_000_000_000).default(1_000)),
  SETTINGS_URL: setting(secureOrigin.optional()),
  SIGN_IN_SECRET: setting(secret.optional()),
  SIGN_IN_JWKS_URL: setting(secureUrl.optional()),
  SIGN_IN_ISSUER: optionalText,
  SIGN_IN_AUDIENCE: text('tidemark-settings'),
  SIGN_IN_PAGE: setting(secureUrl.optional()),
})

export type Config = z.output<typeof environmentSchema>

/** The names of all variables. */
export const variableNames: ReadonlySet<string> = new Set(Object.keys(environmentSchema.shape))

/**
 * Reads and validates the whole environment. Engine addresses that it lacks are taken from `enginesFile`, which `npm run engines`
 * writes. Returns every problem at once, each with the variable's name as its path.
 */
export function readConfig(
  environment: Environment,
  needed: readonly Need[],
  enginesFile = 'var/engines.env',
): { readonly ok: true; readonly config: Config } | { readonly ok: false; readonly problems: readonly Problem[] } {
  const set = withoutEmpty(environment)
  const merged = { ...readEnginesFile(enginesFile), ...set }
  const parsed = environmentSchema.safeParse(merged)
  const problems: Problem[] = parsed.success
    ? []
    : parsed.error.issues.map((issue) => ({ path: String(issue.path[0]), rule: issue.message }))
  const isBlank = (name: string): boolean => itemsOf(merged[name]).length === 0
  for (const name of needed) {
    if (name === 'sign-in') problems.push(...missingForSignIn(merged))
    else if (isBlank(name) && (name !== 'REDIS_URL' || isBlank('REDIS_SENTINELS')))
      problems.push({ path: name, rule: `is not set, and ${enginesFile} does not name it` })
  }
  problems.push(...combinationProblems(merged), ...unknownNameProblems(set, variableNames))
  return parsed.success && problems.length === 0 ? { ok: true, config: parsed.data } : { ok: false, problems }
}

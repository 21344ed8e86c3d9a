import type { Problem } from '../../model/result.ts'
import { type Environment, itemsOf } from './environment.ts'

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

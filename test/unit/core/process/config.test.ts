import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Engine, type Environment, readConfig } from '../../../../src/core/process/config.ts'

const allEngines: Engine[] = ['ELASTICSEARCH_URL', 'KAFKA_BROKERS', 'REDIS_URL']
const engines = { ELASTICSEARCH_URL: 'http://es:9200', KAFKA_BROKERS: 'kafka:9092', REDIS_URL: 'redis://redis:6379' }

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'config-'))
})
afterEach(() => rmSync(folder, { recursive: true }))
const file = (name: string, text = ''): string => {
  const path = join(folder, name)
  if (text !== '') writeFileSync(path, text)
  return path
}
const read = (environment: Environment, enginesFile = file('none.env')) =>
  readConfig(environment, allEngines, enginesFile)
const configOf = (environment: Environment, enginesFile?: string) => {
  const result = read({ ...engines, ...environment }, enginesFile)
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.config
}
const namesOf = (environment: Environment, enginesFile?: string): string[] => {
  const result = read(environment, enginesFile)
  return result.ok ? [] : result.problems.map(({ path }) => path).sort()
}

test('what is not set has its documented default, and so has what is set to nothing', () => {
  const expected = {
    ADMIN_HOST: '127.0.0.1',
    ADMIN_ALLOWED_HOSTS: [],
    SIGN_IN_AUDIENCE: 'tidemark-settings',
    LOG_LEVEL: 'info',
    INDEX_PREFIX: 'tidemark',
    INDEX_SHARDS: 1,
    CONSUMER_GROUP: 'tidemark-indexer',
    TOPIC_FORMS: 'forms',
    TOPIC_SUBMISSIONS: 'submissions',
    TOPIC_ACCOUNT_KEYS: 'account-keys',
    TOPIC_DEAD_LETTERS: 'dead-letters',
    TOPIC_KEY_AUDIT: 'account-key-audit',
    MAX_IN_FLIGHT_BYTES: 64 * 1024 * 1024,
    RATE_LIMIT_PER_MINUTE: 120,
    DEEP_PAGE_FROM: 1_000,
  }
  expect(configOf({})).toMatchObject(expected)
  expect([configOf({}).HOST, configOf({ HOST: '' }).HOST]).toEqual([undefined, undefined])
  expect(configOf(Object.fromEntries(Object.keys(expected).map((name) => [name, ''])))).toMatchObject(expected)
})

test('lists are separated by commas, with or without spaces', () => {
  const config = configOf({ ELASTICSEARCH_URL: 'http://a:9200, https://b:9200', KAFKA_BROKERS: 'a:9092,b:9092,' })
  expect(config.ELASTICSEARCH_URL).toEqual(['http://a:9200', 'https://b:9200'])
  expect(config.KAFKA_BROKERS).toEqual(['a:9092', 'b:9092'])
})

test('everything that is wrong is told at once, by name', () => {
  const wrong = {
    PORT: 'http',
    BASE_URL: 'https://quiz.example/api/v2',
    ADMIN_PORT: '70000',
    HOST: 'all interfaces',
    ADMIN_HOST: '127.0.0.1:9102',
    ADMIN_ALLOWED_HOSTS: 'indexer:9102',
    LOG_LEVEL: 'loud',
    ELASTICSEARCH_URL: 'es:9200',
    ELASTICSEARCH_PASSWORD: 'secret',
    ELASTICSEARCH_CA_FILE: file('missing.pem'),
    KAFKA_BROKERS: 'kafka',
    KAFKA_SASL_MECHANISM: 'gssapi',
    REDIS_URL: 'http://redis',
    REDIS_CA_FILE: file('missing.pem'),
    INDEX_PREFIX: 'Upper',
    INDEX_SHARDS: '0',
    TOPIC_FORMS: 'no spaces',
    TOPIC_SUBMISSIONS: '..',
    RATE_LIMIT_PER_MINUTE: '0',
    SETTINGS_URL: 'http://settings.example',
    SIGN_IN_SECRET: 'hunter2',
    SIGN_IN_JWKS_URL: 'http://quiz.example/keys',
    SIGN_IN_PAGE: 'javascript:alert(1)',
  }
  expect([...new Set(namesOf(wrong))]).toEqual(
    [...Object.keys(wrong).filter((name) => name !== 'ELASTICSEARCH_PASSWORD'), 'ELASTICSEARCH_USERNAME']
      .concat('KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD')
      .sort(),
  )
})

test.each(['127.0.0.1', '0.0.0.0', '::', '::1', 'fe80::1%eth0', 'localhost', 'api-1.internal', 'api_1'])(
  '%s is a host to listen on',
  (host) => {
    expect(configOf({ HOST: host, ADMIN_HOST: host })).toMatchObject({ HOST: host, ADMIN_HOST: host })
  },
)

test.each([
  '*',
  'localhost:3000',
  '[::1]',
  '0',
  '127.1',
  '256.0.0.1',
  'http://localhost',
  '-',
  'a..b',
  `a${'a'.repeat(63)}`,
])('%s is no host to listen on', (host) => {
  expect(namesOf({ ...engines, HOST: host, ADMIN_HOST: host })).toEqual(['ADMIN_HOST', 'HOST'])
})

test.each(['http://localhost:3000/api/v1', 'https://quiz.example/team/api/v1'])('%s is a base URL', (url) => {
  expect(configOf({ BASE_URL: url }).BASE_URL).toBe(url)
})

test.each([
  '/api/v1',
  'ftp://quiz.example/api/v1',
  'https://quiz.example/api/v1/',
  'https://quiz.example/?/api/v1',
  'x',
])('%s is no base URL', (url) => {
  expect(namesOf({ ...engines, BASE_URL: url })).toEqual(['BASE_URL'])
})

test.each([
  ['https://settings.example', 'https://settings.example'],
  ['https://settings.example:8443/', 'https://settings.example:8443'],
  ['http://localhost:3001', 'http://localhost:3001'],
  ['http://127.0.0.1:3001', 'http://127.0.0.1:3001'],
  ['http://[::1]:3001', 'http://[::1]:3001'],
])('%s is where browsers may reach the settings area', (url, origin) => {
  expect(configOf({ SETTINGS_URL: url }).SETTINGS_URL).toBe(origin)
})

test.each([
  'http://settings.example',
  'http://127.0.0.1.evil.example',
  'https://settings.example/area',
  'https://settings.example/?a',
  'https://owner@settings.example',
  'ftp://localhost',
  'settings.example',
])('%s is not where browsers may reach the settings area', (url) => {
  expect(namesOf({ ...engines, SETTINGS_URL: url })).toEqual(['SETTINGS_URL'])
})

test('who signs people in must say how their product does; nobody else need', () => {
  const needed = (environment: Environment): string[] => {
    const result = readConfig({ ...engines, ...environment }, ['sign-in'], file('none.env'))
    return result.ok ? [] : result.problems.map(({ path }) => path)
  }
  const [secret, jwks, issuer] = [
    { SIGN_IN_SECRET: 'x'.repeat(32) },
    { SIGN_IN_JWKS_URL: 'https://quiz.example/keys' },
    { SIGN_IN_ISSUER: 'https://quiz.example' },
  ]
  expect(needed({})).toEqual(['SIGN_IN_ISSUER', 'SIGN_IN_SECRET'])
  expect(needed({ ...secret })).toEqual(['SIGN_IN_ISSUER'])
  expect(needed({ ...issuer })).toEqual(['SIGN_IN_SECRET'])
  expect(needed({ ...issuer, ...secret, ...jwks })).toEqual(['SIGN_IN_SECRET'])
  expect([needed({ ...issuer, ...secret }), needed({ ...issuer, ...jwks })]).toEqual([[], []])
  expect(needed({ ...issuer, SIGN_IN_SECRET: 'x'.repeat(31) })).toEqual(['SIGN_IN_SECRET'])
  expect(namesOf(engines)).toEqual([])
})

test('no problem repeats the value, which may be a secret', () => {
  const result = read({ ...engines, REDIS_URL: 'http://:hunter2@redis', ELASTICSEARCH_URL: 'ftp://u:hunter2@es' })
  expect(result).toMatchObject({ ok: false })
  expect(JSON.stringify(result)).not.toContain('hunter2')
})

test('an engine that is needed must be named, in the environment or by the file; one that is not needed need not', () => {
  expect(namesOf({})).toEqual(allEngines)
  expect(namesOf({ ...engines, KAFKA_BROKERS: ' , ' })).toContain('KAFKA_BROKERS')
  expect(readConfig({ REDIS_URL: engines.REDIS_URL }, ['REDIS_URL'], file('none.env'))).toMatchObject({ ok: true })
})

test('the file that the engines write names what the environment does not', () => {
  const path = file(
    'engines.env',
    'ELASTICSEARCH_URL=http://file:9200\r\n\nKAFKA_BROKERS=file:9092\nREDIS_URL = redis://file?a=b\n',
  )
  expect(namesOf({}, path)).toEqual([])
  const result = read({ KAFKA_BROKERS: 'environment:9092', REDIS_URL: '' }, path)
  expect(result).toMatchObject({
    ok: true,
    config: {
      ELASTICSEARCH_URL: ['http://file:9200'],
      KAFKA_BROKERS: ['environment:9092'],
      REDIS_URL: 'redis://file?a=b',
    },
  })
})

test.each([
  [{ ELASTICSEARCH_USERNAME: 'u' }, 'ELASTICSEARCH_PASSWORD'],
  [{ ELASTICSEARCH_PASSWORD: 'p' }, 'ELASTICSEARCH_USERNAME'],
  [{ KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_USERNAME: 'u' }, 'KAFKA_SASL_PASSWORD'],
  [{ ELASTICSEARCH_USERNAME: 'u', ELASTICSEARCH_PASSWORD: 'p', ELASTICSEARCH_API_KEY: 'k' }, 'ELASTICSEARCH_API_KEY'],
  [{ TOPIC_FORMS: 'x', TOPIC_SUBMISSIONS: 'x' }, 'TOPIC_SUBMISSIONS'],
  [{ TOPIC_FORMS: 'submissions' }, 'TOPIC_FORMS'],
  [{ TOPIC_DEAD_LETTERS: 'forms' }, 'TOPIC_DEAD_LETTERS'],
])('%j does not go together: %s', (environment, name) => {
  expect(namesOf({ ...engines, ...environment })).toEqual([name])
})

test('two topics may trade their names', () => {
  expect(configOf({ TOPIC_FORMS: 'submissions', TOPIC_SUBMISSIONS: 'forms' })).toMatchObject({
    TOPIC_FORMS: 'submissions',
  })
})

test('a certificate is read from its file', () => {
  expect(configOf({ KAFKA_SSL_CA_FILE: file('ca.pem', 'certificate') }).KAFKA_SSL_CA_FILE).toBe('certificate')
})

test('authorities are named for links that are encrypted alone', () => {
  const ca = file('ca.pem', 'certificate')
  expect(namesOf({ ...engines, REDIS_CA_FILE: ca })).toEqual(['REDIS_CA_FILE'])
  expect(configOf({ REDIS_URL: 'rediss://redis', REDIS_CA_FILE: ca }).REDIS_CA_FILE).toBe('certificate')
  expect(namesOf({ ...engines, ELASTICSEARCH_URL: 'https://a:9200,http://b:9200', ELASTICSEARCH_CA_FILE: ca })).toEqual(
    ['ELASTICSEARCH_CA_FILE'],
  )
})

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beginsLikeOurs } from '../../../../src/core/process/config/environment.ts'
import { type Engine, type Environment, readConfig, variableNames } from '../../../../src/core/process/config.ts'
import { makeCertificates } from '../../../support/certificates.ts'

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

test('certificates are read from their file; one that holds none is told', async () => {
  const certificate = await authority()
  const bundle = `# A list of authorities\n${certificate}\n${certificate}`
  expect(configOf({ KAFKA_SSL_CA_FILE: file('ca.pem', bundle) }).KAFKA_SSL_CA_FILE).toBe(bundle)
  const broken = certificate.replace(/(-----BEGIN CERTIFICATE-----\s).{40}/, '$1')
  const wrong = ['\n', 'certificate', broken, certificate.replaceAll('CERTIFICATE', 'PRIVATE KEY')]
  for (const text of wrong)
    expect(namesOf({ ...engines, KAFKA_SSL_CA_FILE: file('ca.pem', text) })).toEqual(['KAFKA_SSL_CA_FILE'])
})

test('authorities are named for links that are encrypted alone', async () => {
  const certificate = await authority()
  const ca = file('ca.pem', certificate)
  expect(namesOf({ ...engines, REDIS_CA_FILE: ca })).toEqual(['REDIS_CA_FILE'])
  expect(configOf({ REDIS_URL: 'rediss://redis', REDIS_CA_FILE: ca }).REDIS_CA_FILE).toBe(certificate)
  expect(namesOf({ ...engines, ELASTICSEARCH_URL: 'https://a:9200,http://b:9200', ELASTICSEARCH_CA_FILE: ca })).toEqual(
    ['ELASTICSEARCH_CA_FILE'],
  )
  expect(namesOf({ ...engines, KAFKA_SSL: 'false', KAFKA_SSL_CA_FILE: ca })).toEqual(['KAFKA_SSL_CA_FILE'])
})

test.each([
  ['true', true],
  ['false', false],
  ['', undefined],
])('KAFKA_SSL may be "%s"', (value, read) => {
  expect(configOf({ KAFKA_SSL: value }).KAFKA_SSL).toBe(read)
})

test.each(['yes', '1', 'TRUE'])('KAFKA_SSL may not be %s', (value) => {
  expect(namesOf({ ...engines, KAFKA_SSL: value })).toEqual(['KAFKA_SSL'])
})

test.each([
  ['redis://redis', 'redis://redis'],
  ['redis://redis:6379/', 'redis://redis:6379/'],
  ['redis://redis/2', 'redis://redis/2'],
  ['rediss://u:p%20w@[::1]:6380/15?family=6', 'rediss://u:p%20w@[::1]:6380/15?family=6'],
  // Who may not choose a database has the first one.
  ['redis://redis/0', 'redis://redis/'],
])('%s names a Redis, and its database', (url, read) => {
  expect(configOf({ REDIS_URL: url }).REDIS_URL).toBe(read)
})

test.each([
  'redis://host/notadb',
  'redis://host/1/2',
  'redis://host/-1',
  'redis://host/1x',
  'redis://host/%31',
  'redis://host/1e1',
  'redis://host?db=notadb',
  'redis://host:65536',
  'redis://host:0',
  'redis://u:%zz@host',
  'redis://ho st',
])('%s names no Redis, or no database', (url) => {
  expect(namesOf({ ...engines, REDIS_URL: url })).toEqual(['REDIS_URL'])
})

test.each([
  ['kafka:65536', 'sentinel:65536'],
  ['kafka:0', 'sentinel:0'],
  ['kafka:', 'sentinel:'],
  [':9092', ':26379'],
  ['::1:9092', '::1:26379'],
  ['[kafka]:9092', '[sentinel]:26379'],
  ['a:9092;b:9092', 'http://sentinel:26379'],
])('%s is no broker, %s no Sentinel', (broker, sentinel) => {
  const wrong = { KAFKA_BROKERS: `fine:9092,${broker}`, REDIS_SENTINELS: `fine:26379,${sentinel}` }
  expect(namesOf({ ...engines, ...wrong, REDIS_SENTINEL_NAME: 'm' })).toEqual(['KAFKA_BROKERS', 'REDIS_SENTINELS'])
})

test('Sentinels may have IPv6 addresses; brokers, of which KafkaJS would read no port, may not', () => {
  const sentinels = { REDIS_SENTINELS: '[::1]:26379,[fe80::1]:65535', REDIS_SENTINEL_NAME: 'm' }
  expect(configOf(sentinels).REDIS_SENTINELS).toEqual(['[::1]:26379', '[fe80::1]:65535'])
  expect(namesOf({ ...engines, KAFKA_BROKERS: '[::1]:9092' })).toEqual(['KAFKA_BROKERS'])
})

test('a user and a password may stand in the URL of Elasticsearch, both and encoded, and nowhere else then', () => {
  const url = 'https://us%20er:p%40ss@es:9200'
  expect(configOf({ ELASTICSEARCH_URL: url }).ELASTICSEARCH_URL).toEqual([url])
  for (const wrong of ['https://user@es', 'https://:password@es', 'https://user:%zz@es', 'https://es:0', 'https://e s'])
    expect([wrong, namesOf({ ...engines, ELASTICSEARCH_URL: wrong })]).toEqual([wrong, ['ELASTICSEARCH_URL']])
  const several = (...urls: string[]): string[] => namesOf({ ...engines, ELASTICSEARCH_URL: urls.join(',') })
  expect(several('https://u:p@a', 'https://b', 'https://u:p@c')).toEqual([])
  for (const other of ['https://other:p@b', 'https://u:other@b'])
    expect(several('https://u:p@a', other)).toEqual(['ELASTICSEARCH_URL'])
  const twice = [{ ELASTICSEARCH_API_KEY: 'k' }, { ELASTICSEARCH_USERNAME: 'u', ELASTICSEARCH_PASSWORD: 'p' }]
  for (const other of twice)
    expect(namesOf({ ...engines, ELASTICSEARCH_URL: url, ...other })).toEqual(['ELASTICSEARCH_URL'])
})

test('a line break, which a file of a secret often ends with, is told', () => {
  const broken = {
    BASE_URL: 'https://quiz.example/\n/api/v1',
    ELASTICSEARCH_API_KEY: 'key\n',
    KAFKA_SASL_PASSWORD: 'secret\r\n',
    SIGN_IN_SECRET: `${'x'.repeat(32)}\n`,
    REDIS_URL: 'redis://redis/1\n',
    INDEX_PREFIX: 'tidemark\n',
  }
  const others = { KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_USERNAME: 'u' }
  expect(namesOf({ ...engines, ...others, ...broken })).toEqual(Object.keys(broken).sort())
  expect(namesOf({ ...engines, ELASTICSEARCH_API_KEY: 'kéy' })).toEqual(['ELASTICSEARCH_API_KEY'])
  // A list may be written over several lines.
  expect(configOf({ KAFKA_BROKERS: 'a:9092,\n b:9092\n' }).KAFKA_BROKERS).toEqual(['a:9092', 'b:9092'])
})

test.each([
  ['https://bücher.example/api/v1', 'https://xn--bcher-kva.example/api/v1'],
  ['https://quiz.example/prüfung/api/v1', 'https://quiz.example/pr%C3%BCfung/api/v1'],
])('the base URL %s is named as %s in headers', (url, encoded) => {
  expect(configOf({ BASE_URL: url }).BASE_URL).toBe(encoded)
})

test.each([
  'MAX_INFLIGHT_BYTES',
  'ELASTICSEARCH_USER',
  'ELASTICSEARCH_URLS',
  'KAFKA_SASL_USER',
  'KAFKA_BROKER',
  'REDIS_SENTINEL',
  'ADMIN_PROT',
  'TOPIC_FORM',
  'INDEX_SHARD',
  'RATE_LIMIT_PER_MIN',
  'ANSWER_CACHE_SIZE',
  'LOGLEVEL',
  'BASEURL',
  'SIGN_IN_KEY',
])('%s begins like one of ours and is none', (name) => {
  expect(namesOf({ ...engines, [name]: '1' })).toEqual([name])
  expect(namesOf({ ...engines, [name]: '' })).toEqual([])
})

test('what Kubernetes, the engines’ programs and others put into an environment is no concern of ours', () => {
  const others = {
    KAFKA_SERVICE_HOST: '10.0.0.2',
    KAFKA_SERVICE_PORT: '9092',
    KAFKA_SERVICE_PORT_TCP_CLIENT: '9092',
    KAFKA_BROKER_0_SERVICE_HOST: '10.0.0.3',
    REDIS_PORT: 'tcp://10.0.0.4:6379',
    REDIS_MASTER_PORT: 'tcp://10.0.0.4:6379',
    REDIS_PORT_6379_TCP: 'tcp://10.0.0.4:6379',
    REDIS_PORT_6379_TCP_ADDR: '10.0.0.4',
    REDIS_PORT_6379_TCP_PORT: '6379',
    REDIS_PORT_6379_TCP_PROTO: 'tcp',
    ELASTICSEARCH_SERVICE_PORT: '9200',
    ELASTICSEARCH_ES_HTTP_PORT_9200_TCP: 'tcp://10.0.0.5:9200',
    ADMIN_SERVICE_HOST: '10.0.0.6',
    TOPIC_OPERATOR_SERVICE_PORT_HEALTH: '8080',
    KAFKA_HOME: '/opt/kafka',
    KAFKA_HEAP_OPTS: '-Xmx1g',
    ELASTICSEARCH_IMAGE: 'elasticsearch:9.4.3',
    HOSTNAME: 'api-7d9f',
    HOST_IP: '10.0.0.1',
    LOG_DIR: '/var/log',
    MAX_MEMORY: '1g',
    BASE_DIR: '/srv',
    PORTS: '3000',
  }
  expect(namesOf({ ...engines, ...others })).toEqual([])
})

test('every variable of ours begins as names are compared, so that its misspellings are told', () => {
  expect([...variableNames].filter((name) => !beginsLikeOurs(name))).toEqual(['PORT', 'HOST'])
})

/** The certificate of an authority, in PEM. */
const authority = async (): Promise<string> => (await makeCertificates()).ca

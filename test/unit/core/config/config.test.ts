import { createPrivateKey, createPublicKey } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, type Engine, latest, readConfig, variableNames } from '../../../../src/core/config/config.ts'
import { type Environment, fileVariables } from '../../../../src/core/config/secretFiles.ts'
import { beginsLikeOurs } from '../../../../src/core/config/unknownNames.ts'
import { makeCertificates } from '../../../support/certificates.ts'
import { eventually } from '../../../support/eventually.ts'
import { useFolder } from '../../../support/temporaryFolder.ts'

const allEngines: Engine[] = ['ELASTICSEARCH_URL', 'KAFKA_BROKERS', 'REDIS_URL']
const engines = { ELASTICSEARCH_URL: 'http://es:9200', KAFKA_BROKERS: 'kafka:9092', REDIS_URL: 'redis://redis:6379' }

const folder = useFolder()
const file = (name: string, text = ''): string => {
  const path = join(folder, name)
  if (text !== '') writeFileSync(path, text)
  return path
}
const read = (environment: Environment) => readConfig(environment, allEngines)
const configOf = (environment: Environment): Config => {
  const result = read({ ...engines, ...environment })
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.config
}
const namesOf = (environment: Environment): string[] => {
  const result = read(environment)
  return result.ok ? [] : result.problems.map(({ path }) => path).sort()
}
const messagesOf = (environment: Environment): string[] => {
  const result = read({ ...engines, ...environment })
  return result.ok ? [] : result.problems.map(({ path, rule }) => `${path} ${rule}`)
}

test('an unset or empty variable has its documented default', () => {
  const expected = {
    ...{ ADMIN_HOST: '127.0.0.1', ADMIN_ALLOWED_HOSTS: [], SIGN_IN_AUDIENCE: 'tidemark-settings', LOG_LEVEL: 'info' },
    ...{ INDEX_PREFIX: 'tidemark', INDEX_ANSWERS: true, INDEX_SHARDS: 1, CONSUMER_GROUP: 'tidemark-indexer' },
    ...{ TOPIC_FORMS: 'forms', TOPIC_SUBMISSIONS: 'submissions', TOPIC_ACCOUNT_KEYS: 'account-keys' },
    ...{ TOPIC_DEAD_LETTERS: 'dead-letters', TOPIC_KEY_AUDIT: 'account-key-audit' },
    ...{ MAX_IN_FLIGHT_BYTES: 64 * 1024 * 1024, RATE_LIMIT_PER_MINUTE: 120, DEEP_PAGE_FROM: 1_000 },
  }
  expect(configOf({})).toMatchObject(expected)
  expect(configOf({ HOST: '', KAFKA_SSL: '' })).toEqual(configOf({}))
  expect(configOf(Object.fromEntries(Object.keys(expected).map((name) => [name, ''])))).toMatchObject(expected)
})

test('all wrong variables are reported at once, by name', () => {
  const wrong = {
    ...{ PORT: 'http', BASE_URL: 'https://quiz.example/api/v2', HOST: 'all interfaces', LOG_LEVEL: 'loud' },
    ...{ ADMIN_PORT: '70000', ADMIN_HOST: '127.0.0.1:9102', ADMIN_ALLOWED_HOSTS: 'indexer:9102' },
    ...{ ELASTICSEARCH_URL: 'es:9200', ELASTICSEARCH_PASSWORD: 'secret', ELASTICSEARCH_CA_FILE: file('missing.pem') },
    ...{ KAFKA_BROKERS: 'kafka', KAFKA_SASL_MECHANISM: 'gssapi', KAFKA_SASL_PASSWORD: 'secret' },
    ...{ KAFKA_OAUTH_TOKEN_URL: 'http://tokens.example', ELASTICSEARCH_API_KEY_FILE: file('missing') },
    ...{ REDIS_URL: 'http://redis', REDIS_CA_FILE: file('missing.pem'), INDEX_PREFIX: 'Upper', INDEX_SHARDS: '0' },
    ...{ TOPIC_FORMS: 'no spaces', TOPIC_SUBMISSIONS: '..', RATE_LIMIT_PER_MINUTE: '0' },
    ...{ SETTINGS_URL: 'http://settings.example', SIGN_IN_SECRET: 'hunter2' },
    ...{ SIGN_IN_JWKS_URL: 'http://quiz.example/keys', SIGN_IN_PAGE: 'javascript:alert(1)' },
  }
  expect([...new Set(namesOf(wrong))]).toEqual(
    [...Object.keys(wrong).filter((name) => name !== 'ELASTICSEARCH_PASSWORD'), 'ELASTICSEARCH_USERNAME'].sort(),
  )
})

/** Each value, and as what it is read where that is another. */
const accepted: readonly (readonly [keyof Config, readonly (string | readonly [string, unknown])[]])[] = [
  ['ADMIN_HOST', ['127.0.0.1', '0.0.0.0', '::', '::1', 'fe80::1%eth0', 'localhost', 'api-1.internal', 'api_1']],
  ['BASE_URL', ['http://localhost:3000/api/v1', 'https://quiz.example/team/api/v1']],
  // Headers hold ASCII alone.
  ['BASE_URL', [['https://bücher.example/api/v1', 'https://xn--bcher-kva.example/api/v1']]],
  ['BASE_URL', [['https://quiz.example/prüfung/api/v1', 'https://quiz.example/pr%C3%BCfung/api/v1']]],
  ['SETTINGS_URL', ['https://settings.example', ...['localhost', '127.0.0.1', '[::1]'].map((at) => `http://${at}:1`)]],
  ['SETTINGS_URL', [['https://settings.example:8443/', 'https://settings.example:8443']]],
  ['REDIS_URL', ['redis://redis', 'redis://redis:6379/', 'redis://redis/2', 'rediss://u:p%20w@[::1]:6380/15?family=6']],
  // Who may not choose a database has the first one.
  ['REDIS_URL', [['redis://redis/0', 'redis://redis/']]],
  ['ELASTICSEARCH_URL', [['http://a:9200, https://us%20er:p%40ss@b', ['http://a:9200', 'https://us%20er:p%40ss@b']]]],
  ['ELASTICSEARCH_URL', [['https://u:p@a,https://b,https://u:p@c', ['https://u:p@a', 'https://b', 'https://u:p@c']]]],
  ['KAFKA_BROKERS', [['a:9092,\n b:9092\n,', ['a:9092', 'b:9092']]]],
]
const acceptedCases = accepted.flatMap(([name, values]) =>
  values.map((each): [keyof Config, string, unknown] =>
    typeof each === 'string' ? [name, each, each] : [name, each[0], each[1]],
  ),
)
test.each(acceptedCases)('%s may be %j', (name, value, expected) => {
  expect(configOf({ [name]: value })[name]).toEqual(expected)
})

const refused: Readonly<Record<string, readonly string[]>> = {
  ADMIN_HOST: [
    ...['*', 'localhost:3000', '[::1]', '0', '127.1', '256.0.0.1', 'http://localhost', '-', 'a..b'],
    `a${'a'.repeat(63)}`,
  ],
  BASE_URL: [
    ...['/api/v1', 'ftp://quiz.example/api/v1', 'https://quiz.example/api/v1/', 'https://quiz.example/?/api/v1', 'x'],
    'https://quiz.example/\n/api/v1',
  ],
  SETTINGS_URL: [
    ...['http://settings.example', 'http://127.0.0.1.evil.example', 'https://settings.example/area'],
    ...['https://settings.example/?a', 'https://owner@settings.example', 'ftp://localhost', 'settings.example'],
  ],
  KAFKA_SSL: ['yes', '1', 'TRUE'],
  INDEX_ANSWERS: ['no', '0', 'False'],
  REDIS_URL: [
    ...['redis://host/notadb', 'redis://host/1/2', 'redis://host/%31', 'redis://host?db=notadb', 'redis://host:65536'],
    ...['redis://host:0', 'redis://u:%zz@host', 'redis://ho st', 'redis://redis/1\n'],
  ],
  KAFKA_BROKERS: [
    ...['kafka:65536', 'kafka:0', 'kafka:', ':9092', '::1:9092', '[kafka]:9092', 'a:9092;b:9092', 'fine:9092,b'],
    // KafkaJS would read no port.
    '[::1]:9092',
  ],
  ELASTICSEARCH_URL: [
    ...['https://user@es', 'https://:password@es', 'https://user:%zz@es', 'https://es:0', 'https://e s'],
    // The client would send the first user to every node.
    ...['https://u:p@a,https://other:p@b', 'https://u:p@a,https://u:other@b'],
  ],
  // A line break is what a file of a secret often ends with.
  ELASTICSEARCH_API_KEY: ['key\n', 'kéy'],
  SIGN_IN_SECRET: [`${'x'.repeat(32)}\n`, 'x'.repeat(31)],
  INDEX_PREFIX: ['tidemark\n'],
  // These begin like ours, and are none.
  ...Object.fromEntries(
    ['MAX_INFLIGHT_BYTES', 'ELASTICSEARCH_URLS', 'ADMIN_PROT', 'ADMIN_API_PORT', 'KAFKA_BROKER', 'LOGLEVEL'].map(
      (name) => [name, ['1']],
    ),
  ),
}
const refusedCases = Object.entries(refused).flatMap(([name, values]) => values.map((value) => [name, value] as const))
test.each(refusedCases)('%s may not be %j', (name, value) => {
  expect(namesOf({ ...engines, [name]: value })).toEqual([name])
})

test('Sentinels are hosts with ports, which may be IPv6 addresses', () => {
  const named = (REDIS_SENTINELS: string) => ({ REDIS_SENTINELS, REDIS_SENTINEL_NAME: 'm' })
  expect(configOf(named('[::1]:26379,[fe80::1]:65535')).REDIS_SENTINELS).toEqual([
    { host: '::1', port: 26_379 },
    { host: 'fe80::1', port: 65_535 },
  ])
  for (const wrong of ['sentinel:65536', 'sentinel:', '::1:26379', '[sentinel]:26379', 'http://sentinel:26379'])
    expect(namesOf({ ...engines, ...named(`fine:26379,${wrong}`) })).toEqual(['REDIS_SENTINELS'])
})

test('only a process that signs owners in needs the variables of sign-in', () => {
  const needed = (environment: Environment): string[] => {
    const result = readConfig({ ...engines, ...environment }, ['sign-in'])
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
  expect(namesOf(engines)).toEqual([])
})

test('a process needs the URL of each engine that it uses, and of no other', () => {
  expect(namesOf({})).toEqual(allEngines)
  expect(namesOf({ ...engines, KAFKA_BROKERS: ' , ' })).toContain('KAFKA_BROKERS')
  expect(readConfig({ REDIS_URL: engines.REDIS_URL }, ['REDIS_URL'])).toMatchObject({ ok: true })
})

const user = { ELASTICSEARCH_USERNAME: 'u', ELASTICSEARCH_PASSWORD: 'p' }
const plain = { KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_USERNAME: 'u', KAFKA_SASL_PASSWORD: 'p' }
const oauth = {
  ...{ KAFKA_SASL_MECHANISM: 'oauthbearer', KAFKA_OAUTH_TOKEN_URL: 'https://tokens.example/token' },
  ...{ KAFKA_OAUTH_CLIENT_ID: 'c', KAFKA_OAUTH_CLIENT_SECRET: 's' },
}

const aws = { KAFKA_SASL_MECHANISM: 'aws-msk-iam', KAFKA_SSL: 'true', AWS_REGION: 'eu-west-1' }
test.each([plain, oauth, aws])('the credentials %j are complete', (environment) => {
  expect(configOf(environment)).toMatchObject({ KAFKA_SASL_MECHANISM: environment.KAFKA_SASL_MECHANISM })
})

test.each([
  [{ ELASTICSEARCH_USERNAME: 'u' }, 'ELASTICSEARCH_PASSWORD'],
  [{ ELASTICSEARCH_PASSWORD: 'p' }, 'ELASTICSEARCH_USERNAME'],
  [{ KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_USERNAME: 'u' }, 'KAFKA_SASL_PASSWORD'],
  [{ KAFKA_SASL_PASSWORD: 'p' }, 'KAFKA_SASL_PASSWORD'],
  [{ ...oauth, KAFKA_OAUTH_CLIENT_SECRET: '' }, 'KAFKA_OAUTH_CLIENT_SECRET'],
  [{ ...oauth, KAFKA_SASL_USERNAME: 'u' }, 'KAFKA_SASL_USERNAME'],
  [{ ...plain, KAFKA_OAUTH_SCOPE: 's' }, 'KAFKA_OAUTH_SCOPE'],
  [{ ...plain, AWS_REGION: 'eu-west-1', KAFKA_OAUTH_TOKEN_URL: 'https://t' }, 'KAFKA_OAUTH_TOKEN_URL'],
  [{ KAFKA_SASL_MECHANISM: 'aws-msk-iam', KAFKA_SSL: 'true' }, 'AWS_REGION'],
  [{ KAFKA_SASL_MECHANISM: 'aws-msk-iam', AWS_REGION: 'eu-west-1' }, 'KAFKA_SSL'],
  [{ ...user, ELASTICSEARCH_API_KEY: 'k' }, 'ELASTICSEARCH_API_KEY'],
  [{ ELASTICSEARCH_URL: 'https://u:p@es', ELASTICSEARCH_API_KEY: 'k' }, 'ELASTICSEARCH_URL'],
  [{ ...user, ELASTICSEARCH_URL: 'https://u:p@es' }, 'ELASTICSEARCH_URL'],
  [{ TOPIC_FORMS: 'x', TOPIC_SUBMISSIONS: 'x' }, 'TOPIC_SUBMISSIONS'],
  [{ TOPIC_FORMS: 'submissions' }, 'TOPIC_FORMS'],
  [{ TOPIC_DEAD_LETTERS: 'forms' }, 'TOPIC_DEAD_LETTERS'],
])('the variables %j are refused, naming %s', (environment, name) => {
  expect(namesOf({ ...engines, ...environment })).toEqual([name])
})

test('two topics may exchange their default names', () => {
  expect(configOf({ TOPIC_FORMS: 'submissions', TOPIC_SUBMISSIONS: 'forms' }).TOPIC_FORMS).toBe('submissions')
})

test('certificates are read from their file, and a file without one is reported', async () => {
  const { ca: certificate } = await makeCertificates()
  const bundle = `# A list of authorities\n${certificate}\n${certificate}`
  expect(configOf({ KAFKA_SSL_CA_FILE: file('ca.pem', bundle) }).KAFKA_SSL_CA_FILE).toBe(bundle)
  const broken = certificate.replace(/(-----BEGIN CERTIFICATE-----\s).{40}/, '$1')
  const wrong = ['\n', 'certificate', broken, certificate.replaceAll('CERTIFICATE', 'PRIVATE KEY')]
  for (const text of wrong)
    expect(namesOf({ ...engines, KAFKA_SSL_CA_FILE: file('ca.pem', text) })).toEqual(['KAFKA_SSL_CA_FILE'])
})

test('a client certificate needs its own key, readable without a passphrase', async () => {
  const [own, other] = await Promise.all([makeCertificates(), makeCertificates()])
  const named = (key: string): Environment => ({
    KAFKA_SSL_CERT_FILE: file('cert.pem', own.certificate),
    KAFKA_SSL_KEY_FILE: file('key.pem', key),
  })
  expect(configOf(named(own.key))).toMatchObject({ KAFKA_SSL_CERT_FILE: own.certificate, KAFKA_SSL_KEY_FILE: own.key })
  const locked = createPrivateKey(own.key).export({ type: 'pkcs8', format: 'pem', cipher: 'aes256', passphrase: 'p' })
  expect(namesOf({ ...engines, ...named(other.key) })).toEqual(['KAFKA_SSL_KEY_FILE'])
  const publicKey = String(createPublicKey(own.key).export({ type: 'spki', format: 'pem' }))
  for (const key of [String(locked), own.certificate, publicKey, 'a key'])
    expect(messagesOf(named(key))).toEqual(['KAFKA_SSL_KEY_FILE holds no private key in PEM without a passphrase'])
  expect(namesOf({ ...engines, ...named(own.key), KAFKA_SSL_KEY_FILE: '' })).toEqual(['KAFKA_SSL_KEY_FILE'])
  expect(namesOf({ ...engines, ...named(other.key), PORT: 'http' })).toEqual(['KAFKA_SSL_KEY_FILE', 'PORT'])
  const ofRedis = { REDIS_CERT_FILE: file('cert.pem'), REDIS_KEY_FILE: file('key.pem', own.key) }
  expect(namesOf({ ...engines, ...ofRedis })).toEqual(['REDIS_CERT_FILE'])
  expect(namesOf({ ...engines, ...ofRedis, REDIS_URL: 'rediss://redis' })).toEqual([])
})

test('certificate authorities are accepted for encrypted connections only', async () => {
  const { ca: certificate } = await makeCertificates()
  const ca = file('ca.pem', certificate)
  expect(configOf({ REDIS_URL: 'rediss://redis', REDIS_CA_FILE: ca }).REDIS_CA_FILE).toBe(certificate)
  const unencrypted: readonly (readonly [string, Environment])[] = [
    ['REDIS_CA_FILE', {}],
    ['ELASTICSEARCH_CA_FILE', { ELASTICSEARCH_URL: 'https://a:9200,http://b:9200' }],
    ['KAFKA_SSL_CA_FILE', { KAFKA_SSL: 'false' }],
  ]
  for (const [name, environment] of unencrypted)
    expect(namesOf({ ...engines, ...environment, [name]: ca })).toEqual([name])
})

const inFile = (name: string, text: string): Record<string, string> => ({ [`${name}_FILE`]: file(name, text) })
const signature = 'x'.repeat(32)
/** Each variable that may be a file, within a whole configuration. */
const wholes: readonly Environment[] = [
  { ...engines, ...user, ...plain, SIGN_IN_SECRET: signature },
  { ...engines, ...oauth, ELASTICSEARCH_API_KEY: 'k', REDIS_SENTINELS: 's:1', REDIS_SENTINEL_NAME: 'm' },
]
const inFiles = [...fileVariables.values()].map((name) => [name, wholes.find((whole) => name in whole) ?? {}] as const)

describe('a secret in a file', () => {
  test.each(inFiles)('%s is the content of its file, without line breaks at the end', (name, whole) => {
    const { [name]: value = '', ...others } = whole
    expect(configOf({ [name]: '', ...inFile(name, `${value}\r\n\n`), ...others })).toEqual({
      ...configOf(whole),
      files: expect.anything(),
    })
  })

  test('keeps spaces at its end, which a password may have', () => {
    const config = configOf({ ELASTICSEARCH_USERNAME: 'u', ...inFile('ELASTICSEARCH_PASSWORD', ' two words  \n') })
    expect(config.ELASTICSEARCH_PASSWORD).toBe(' two words  ')
  })

  test('is refused if the variable itself is set, too, naming both', () => {
    const result = read({ ...engines, ...inFile('REDIS_URL', 'redis://redis') })
    const problem = { path: 'REDIS_URL_FILE', rule: 'must not be set together with REDIS_URL' }
    expect(result).toEqual({ ok: false, problems: [problem] })
  })

  test('is reported if the file is missing or empty, with its path and with all other problems', () => {
    const { REDIS_URL: _, ...others } = engines
    const missing = read({ ...others, REDIS_URL_FILE: '/missing/url', LOG_LEVEL: 'loud' })
    const rule = expect.stringContaining("'/missing/url'")
    expect(missing).toMatchObject({ ok: false, problems: [{ path: 'REDIS_URL_FILE', rule }, { path: 'LOG_LEVEL' }] })
    writeFileSync(join(folder, 'empty'), '\n')
    const problem = { path: 'REDIS_URL_FILE', rule: `names ${file('empty')}, which is empty` }
    expect(read({ ...others, REDIS_URL_FILE: file('empty') })).toEqual({ ok: false, problems: [problem] })
  })

  test('is reported without its content if it is not valid', () => {
    const given = { KAFKA_BROKERS: engines.KAFKA_BROKERS, ELASTICSEARCH_URL: 'ftp://u:hunter2@es' }
    const result = read({ ...given, ...inFile('REDIS_URL', 'http://:hunter2@redis') })
    const problems = [{ path: 'ELASTICSEARCH_URL' }, { path: 'REDIS_URL' }]
    expect(result).toMatchObject({ ok: false, problems })
    expect(JSON.stringify(result)).not.toContain('hunter2')
  })

  test('is read again when its file is replaced; an unusable file is reported once, and changes nothing', async () => {
    const config = configOf({ ELASTICSEARCH_USERNAME: 'u', ...inFile('ELASTICSEARCH_PASSWORD', 'first') })
    const untilPassword = (password: string): Promise<void> =>
      eventually(async () => latest(config).ELASTICSEARCH_PASSWORD === password)
    const told: string[][] = []
    if (config.files !== undefined) config.files.onProblems = (problems) => told.push(problems.map(({ path }) => path))
    inFile('ELASTICSEARCH_PASSWORD', 'second')
    await untilPassword('second')
    rmSync(file('ELASTICSEARCH_PASSWORD'))
    await eventually(async () => latest(config) !== config && told.length > 0)
    expect(latest(config).ELASTICSEARCH_PASSWORD).toBe('second')
    inFile('ELASTICSEARCH_PASSWORD', 'third')
    await untilPassword('third')
    expect(told).toEqual([['ELASTICSEARCH_PASSWORD_FILE']])
    expect(config.ELASTICSEARCH_PASSWORD).toBe('first')
  })
})

test('without files, nothing is read again', () => {
  const config = configOf({})
  expect(latest(config)).toBe(config)
})

test('variables of Kubernetes, of the engines and of other programs are not reported as unknown', () => {
  const others = [
    ...['KAFKA_SERVICE_HOST', 'KAFKA_SERVICE_PORT', 'KAFKA_SERVICE_PORT_TCP_CLIENT', 'KAFKA_BROKER_0_SERVICE_HOST'],
    ...['REDIS_PORT', 'REDIS_MASTER_PORT', 'REDIS_PORT_6379_TCP', 'REDIS_PORT_6379_TCP_ADDR'],
    ...['REDIS_PORT_6379_TCP_PORT', 'REDIS_PORT_6379_TCP_PROTO', 'ELASTICSEARCH_SERVICE_PORT'],
    ...['ELASTICSEARCH_ES_HTTP_PORT_9200_TCP', 'ADMIN_SERVICE_HOST', 'TOPIC_OPERATOR_SERVICE_PORT_HEALTH'],
    ...['KAFKA_HOME', 'KAFKA_HEAP_OPTS', 'ELASTICSEARCH_IMAGE', 'HOSTNAME', 'HOST_IP', 'LOG_DIR', 'MAX_MEMORY'],
    ...['BASE_DIR', 'PORTS'],
  ]
  expect(namesOf({ ...engines, ...Object.fromEntries(others.map((name) => [name, 'x'])) })).toEqual([])
})

test('misspellings of every variable are reported, except of PORT, HOST and AWS_REGION', () => {
  expect([...variableNames].filter((name) => !beginsLikeOurs(name))).toEqual(['PORT', 'HOST', 'AWS_REGION'])
})

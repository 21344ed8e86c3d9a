import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { makeCertificates } from '../support/certificates.ts'
import { eventually } from '../support/eventually.ts'
import { useStarted } from '../support/lifecycle.ts'
import { ownNames } from '../support/names.ts'
import { killPrograms, type Program, probe, refusalOf, startProgram, untilReady } from '../support/programs.ts'
import { startSecuredKafka } from '../support/securedKafka.ts'
import { useFolder } from '../support/temporaryFolder.ts'
import { initialRules, startTokenEndpoint } from '../support/tokenEndpoint.ts'

const folder = useFolder()
const inFile = async (name: string, text: string): Promise<string> => {
  await writeFile(join(folder, name), text)
  return join(folder, name)
}

const modules = 'org.apache.kafka.common.security.oauthbearer'
const listener = 'listener.name.secure'
/** A session is authenticated anew ten seconds before its end. */
const sessionMs = 12_000
const password = 'password-of-tidemark'

const tls = await makeCertificates()
const trusted = { NODE_EXTRA_CA_CERTS: await inFile('tokens-ca.pem', tls.ca) }
const endpoint = useStarted('the endpoint', () => startTokenEndpoint({ cert: tls.certificate, key: tls.key }))
const kafka = useStarted('Kafka', async () => {
  const keys = String(pathToFileURL(await inFile('jwks.json', endpoint.jwks)))
  return await startSecuredKafka(
    { tidemark: password },
    {
      javaOptions: `-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=${keys}`,
      properties: {
        [`${listener}.sasl.enabled.mechanisms`]: 'SCRAM-SHA-512,OAUTHBEARER',
        [`${listener}.oauthbearer.sasl.jaas.config`]: `${modules}.OAuthBearerLoginModule required;`,
        [`${listener}.oauthbearer.sasl.server.callback.handler.class`]: `${modules}.OAuthBearerValidatorCallbackHandler`,
        [`${listener}.oauthbearer.sasl.oauthbearer.jwks.endpoint.url`]: keys,
        [`${listener}.oauthbearer.sasl.oauthbearer.expected.audience`]: 'kafka',
        [`${listener}.oauthbearer.connections.max.reauth.ms`]: String(sessionMs),
        [`${listener}.scram-sha-512.connections.max.reauth.ms`]: String(sessionMs),
        'super.users': 'User:ANONYMOUS;User:tidemark;User:CN=engine',
      },
    },
  )
})
afterEach(killPrograms)
beforeEach(() => {
  Object.assign(endpoint.rules, initialRules)
})

const secured = (): Record<string, string> => {
  return { ...ownNames(), KAFKA_BROKERS: kafka.brokers, KAFKA_SSL_CA_FILE: kafka.caFile }
}
const byToken = (): Record<string, string> => ({
  ...{ ...secured(), ...trusted, KAFKA_SASL_MECHANISM: 'oauthbearer', KAFKA_OAUTH_TOKEN_URL: endpoint.url },
  ...{ KAFKA_OAUTH_CLIENT_ID: 'tidemark', KAFKA_OAUTH_CLIENT_SECRET: initialRules.secret },
})
const refusal = (settings: Record<string, string>): Promise<string> => refusalOf('dead-letters', settings, ['list'])
const problemOf = async (program: Program): Promise<string> => JSON.stringify((await probe(program, 'readyz')).body)

describe('with tokens of an endpoint', () => {
  test('an indexer works on after its tokens expire, and after its client secret changes in its file', async () => {
    const { KAFKA_OAUTH_CLIENT_SECRET: first = '', ...others } = byToken()
    const file = await inFile('client-secret', `${first}\n`)
    const indexer = await startProgram('indexer', { ...others, KAFKA_OAUTH_CLIENT_SECRET_FILE: file })
    await untilReady(indexer)
    const atFirst = endpoint.issued()
    await eventually(() => endpoint.issued() >= atFirst + 4)
    await untilReady(indexer)
    expect(indexer.log()).not.toContain('refuses')

    endpoint.rules.secret = 'second secret'
    await eventually(async () => (await problemOf(indexer)).includes('KAFKA_OAUTH_CLIENT_SECRET is refused'))
    await inFile('client-secret', 'second secret\n')
    await untilReady(indexer)
    for (const secret of ['first secret', 'second secret', Buffer.from('tidemark:').toString('base64').slice(0, 8)])
      expect(indexer.log()).not.toContain(secret)
    expect(await indexer.end('SIGTERM')).toBe(0)
  })

  test('an indexer waits for an endpoint that is down, also at its start, and reports it', async () => {
    endpoint.rules.status = 503
    const indexer = await startProgram('indexer', byToken())
    await eventually(() => indexer.log().includes('KAFKA_OAUTH_TOKEN_URL gives no token (503'))
    endpoint.rules.status = 200
    await untilReady(indexer)
  })

  test('a process whose client secret is refused ends with exit code 78 and one line', async () => {
    const line = 'KAFKA_OAUTH_CLIENT_SECRET is refused by KAFKA_OAUTH_TOKEN_URL (401 invalid_client)\n'
    expect(await refusal({ ...byToken(), KAFKA_OAUTH_CLIENT_SECRET: 'hunter2' })).toBe(line)
  })

  test('a process with a scope that the endpoint rejects ends with exit code 78 and one line', async () => {
    Object.assign(endpoint.rules, { status: 400, error: 'invalid_scope' })
    const line = 'KAFKA_OAUTH_SCOPE is refused by KAFKA_OAUTH_TOKEN_URL (400 invalid_scope)\n'
    expect(await refusal({ ...byToken(), KAFKA_OAUTH_SCOPE: 'everything' })).toBe(line)
  })

  test('a process whose tokens are for another audience ends with exit code 78 and one line', async () => {
    endpoint.rules.audience = 'other'
    expect(await refusal(byToken())).toBe('KAFKA_OAUTH_TOKEN_URL gives tokens that Kafka refuses\n')
  })

  test('a process whose endpoint has an untrusted certificate ends with exit code 78 and one line', async () => {
    const line = /^KAFKA_OAUTH_TOKEN_URL gives no token \([A-Z_]*(CERT|SIGNATURE)[A-Z_]*\)\n$/
    expect(await refusal({ ...byToken(), NODE_EXTRA_CA_CERTS: '' })).toMatch(line)
  })
})

describe('with tokens of AWS', () => {
  const region = { AWS_REGION: 'eu-west-1', AWS_EC2_METADATA_DISABLED: 'true' }
  const aws = () => ({ ...secured(), ...region, KAFKA_SASL_MECHANISM: 'aws-msk-iam', HOME: folder })

  test('a process without credentials of AWS ends with exit code 78 and one line', async () => {
    const why = 'but no AWS credentials could be obtained (CredentialsProviderError)'
    expect(await refusal(aws())).toBe(`KAFKA_SASL_MECHANISM is aws-msk-iam, ${why}\n`)
  })

  test('a process whose credentials the broker refuses ends with exit code 78 and one line', async () => {
    const credentials = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'hunter2' }
    const why = 'but Kafka refuses the credentials of AWS'
    expect(await refusal({ ...aws(), ...credentials })).toBe(`KAFKA_SASL_MECHANISM is aws-msk-iam, ${why}\n`)
  })
})

describe('with a password in a file', () => {
  test('an indexer that Kafka refuses later is not ready, and uses the next password without a restart', async () => {
    const settings = { ...secured(), KAFKA_SASL_MECHANISM: 'scram-sha-512', KAFKA_SASL_USERNAME: 'tidemark' }
    const file = await inFile('password', `${password}\n`)
    const indexer = await startProgram('indexer', { ...settings, KAFKA_SASL_PASSWORD_FILE: file })
    await untilReady(indexer)
    await inFile('password', 'hunter2')
    await eventually(async () => /kafka.*SCRAM/i.test(await problemOf(indexer)))
    await inFile('password', password)
    await untilReady(indexer)
    expect(indexer.log()).not.toContain('hunter2')
    expect(await indexer.end('SIGTERM')).toBe(0)
  })

  test('a start with a mechanism that Kafka does not offer ends and names it', async () => {
    const user = { KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_USERNAME: 'tidemark', KAFKA_SASL_PASSWORD: password }
    expect(await refusal({ ...secured(), ...user })).toBe('KAFKA_SASL_MECHANISM is none that Kafka offers\n')
  })
})

describe('with a client certificate', () => {
  const mutual = (): Record<string, string> => ({ ...secured(), KAFKA_BROKERS: kafka.mutualBrokers })

  test('an indexer works as the user that the certificate names', async () => {
    const own = { KAFKA_SSL_CERT_FILE: kafka.own.certificate, KAFKA_SSL_KEY_FILE: kafka.own.key }
    const indexer = await startProgram('indexer', { ...mutual(), ...own })
    await untilReady(indexer)
    expect(await indexer.end('SIGTERM')).toBe(0)
  })

  test('a process without a certificate, or with one of another authority, ends with exit code 78 and one line', async () => {
    const other = await makeCertificates()
    const foreign = {
      KAFKA_SSL_CERT_FILE: await inFile('foreign.pem', other.certificate),
      KAFKA_SSL_KEY_FILE: await inFile('foreign.key', other.key),
    }
    const line = /^KAFKA_SSL_CERT_FILE is refused: .*, by KAFKA_BROKERS\n$/
    expect(await refusal({ ...mutual(), ...foreign })).toMatch(line)
    const missing = 'KAFKA_SSL_CERT_FILE must be set: a client certificate is asked for, by KAFKA_BROKERS\n'
    expect(await refusal(mutual())).toBe(missing)
  })
})

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import kafkajs from 'kafkajs'
import { bearer } from '../../../../src/core/kafka/client.ts'
import { makeCertificates } from '../../../support/certificates.ts'
import { listenLocally } from '../../../support/localServer.ts'
import { killPrograms, refusalOf, startProgram } from '../../../support/programs.ts'
import { useFolder } from '../../../support/temporaryFolder.ts'

const folder = useFolder()
/** Resolves once somebody has asked something by TLS. */
const asked = Promise.withResolvers<void>()
const { ca, certificate: cert, key } = await makeCertificates()
const caFile = join(folder, 'ca.pem')
await writeFile(caFile, ca)
const server = createServer({ cert, key }, (socket) => {
  socket.on('error', () => undefined).once('data', () => asked.resolve())
})
const broker = { KAFKA_BROKERS: `127.0.0.1:${await listenLocally(server)}` }
const settings = { ...broker, KAFKA_SSL: 'true' }
afterAll(() => {
  killPrograms()
  server.close()
})

test('with KAFKA_SSL alone, a broker is trusted if an authority of the machine has signed its certificate', async () => {
  await startProgram('dead-letters', { ...settings, NODE_EXTRA_CA_CERTS: caFile }, ['list'])
  await asked.promise
})

test('with KAFKA_SSL alone, any other broker is refused', async () => {
  expect(await refusalOf('dead-letters', settings, ['list'])).toMatch(
    /^KAFKA_SSL does not vouch for the certificate of 127\.0\.0\.1:\d+ \([A-Z_]+\)\n$/,
  )
})

test('a client certificate alone turns TLS on', async () => {
  const [certFile, keyFile] = [join(folder, 'client.pem'), join(folder, 'client.key')]
  await Promise.all([writeFile(certFile, cert), writeFile(keyFile, key)])
  const own = { KAFKA_SSL_CERT_FILE: certFile, KAFKA_SSL_KEY_FILE: keyFile }
  expect(await refusalOf('dead-letters', { ...broker, ...own }, ['list'])).toMatch(/^KAFKA_SSL does not vouch for/)
})

test.each([
  [
    'is named, and not asked with again, when Kafka refuses it',
    new kafkajs.KafkaJSProtocolError(new Error('refused')),
    true,
  ],
  ['is kept when the connection is lost meanwhile', new kafkajs.KafkaJSConnectionError('closed'), false],
])('a token %s', async (_, failure, isRefused) => {
  let forgotten = false
  const forget = (): void => {
    forgotten = true
  }
  const problem = { path: 'KAFKA_OAUTH_TOKEN_URL', rule: 'gives tokens that Kafka refuses' }
  const { authenticationProvider } = bearer({ read: async () => 'token', forget }, problem)
  const saslAuthenticate = () => Promise.reject(failure)
  const { authenticate } = authenticationProvider({ host: '', port: 1, logger: {} as never, saslAuthenticate })
  const told = await authenticate().catch((error: unknown) => error)
  expect([(told as { problem?: object }).problem, forgotten]).toEqual(isRefused ? [problem, true] : [undefined, false])
})

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeCertificates } from '../support/certificates.ts'
import { eventually } from '../support/eventually.ts'
import { ownNames } from '../support/names.ts'
import { killPrograms, probe, refusalOf, startProgram, untilReady } from '../support/programs.ts'
import { type SecuredRedis, startSecuredRedis } from '../support/securedRedis.ts'
import { useFolder } from '../support/temporaryFolder.ts'

const names = ownNames()
const prefix = names.INDEX_PREFIX
const folder = useFolder()
let redis: SecuredRedis | undefined
afterEach(async () => {
  killPrograms()
  await redis?.stop()
  redis = undefined
})
const indexerOf = ({ urlOf, caFile }: SecuredRedis): Record<string, string> => {
  return { ...names, REDIS_URL: urlOf('tidemark-indexer'), REDIS_CA_FILE: caFile }
}

test('a process sends its client certificate to Redis, and ends with exit code 78 if it is not the right one', async () => {
  redis = await startSecuredRedis(prefix, { asks: true })
  const { certificate, key } = redis.own
  const settings = indexerOf(redis)
  const indexer = await startProgram('indexer', { ...settings, REDIS_CERT_FILE: certificate, REDIS_KEY_FILE: key })
  await untilReady(indexer)
  expect(await indexer.end('SIGTERM')).toBe(0)

  const missing = 'REDIS_CERT_FILE must be set: a client certificate is asked for, by REDIS_URL\n'
  expect(await refusalOf('indexer', settings)).toBe(missing)
  const other = await makeCertificates()
  const foreign = { REDIS_CERT_FILE: join(folder, 'foreign.pem'), REDIS_KEY_FILE: join(folder, 'foreign.key') }
  await writeFile(foreign.REDIS_CERT_FILE, other.certificate)
  await writeFile(foreign.REDIS_KEY_FILE, other.key)
  const line = /^REDIS_CERT_FILE is refused: .*, by REDIS_URL\n$/
  expect(await refusalOf('indexer', { ...settings, ...foreign })).toMatch(line)
})

test('changed authority, certificate and key files are used without a restart', async () => {
  redis = await startSecuredRedis(prefix, { asks: true })
  const { own, caFile, keeper } = redis
  const files = {
    REDIS_CA_FILE: join(folder, 'ca.pem'),
    REDIS_CERT_FILE: join(folder, 'own.pem'),
    REDIS_KEY_FILE: join(folder, 'own.key'),
  }
  await writeFile(files.REDIS_CA_FILE, await readFile(caFile))
  await writeFile(files.REDIS_CERT_FILE, await readFile(own.certificate))
  await writeFile(files.REDIS_KEY_FILE, await readFile(own.key))
  const indexer = await startProgram('indexer', { ...indexerOf(redis), ...files })
  await untilReady(indexer)

  const next = await makeCertificates()
  await writeFile(own.certificate, next.certificate)
  await writeFile(own.key, next.key)
  await writeFile(join(folder, 'next-ca.pem'), next.ca)
  // Redis reads all three anew.
  await keeper.config('SET', 'tls-ca-cert-file', join(folder, 'next-ca.pem'))
  await keeper.call('CLIENT', 'KILL', 'USER', 'tidemark-indexer')
  await eventually(async () => (await probe(indexer, 'readyz')).body.checks['redis']?.ok === false)
  await writeFile(files.REDIS_CA_FILE, next.ca)
  await writeFile(files.REDIS_CERT_FILE, next.certificate)
  // Between the two files, what they held together still counts.
  await eventually(() => indexer.log().includes('REDIS_KEY_FILE holds another key'))
  expect((await probe(indexer, 'readyz')).code).toBe(503)
  await writeFile(files.REDIS_KEY_FILE, next.key)
  await untilReady(indexer)
  expect(await indexer.end('SIGTERM')).toBe(0)
})

test('a start with a Redis Cluster is refused with the reason', async () => {
  const start = () => startSecuredRedis(prefix, { more: ['--cluster-enabled', 'yes'] })
  // The port of its bus is 10,000 above its own, where somebody's connection may begin.
  redis = await start().catch(start)
  expect(await refusalOf('indexer', indexerOf(redis))).toMatch(/^REDIS_URL names a Redis Cluster, which .* slots/)
})

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeCertificates } from '../support/certificates.ts'
import { ownNames } from '../support/names.ts'
import { killPrograms, refusalOf, startProgram, untilReady } from '../support/programs.ts'
import { type SecuredRedis, startSecuredRedis } from '../support/securedRedis.ts'
import { useFolder } from '../support/temporaryFolder.ts'

const names = ownNames()
const prefix = names['INDEX_PREFIX'] ?? ''
const folder = useFolder()
let redis: SecuredRedis | undefined
afterEach(async () => {
  killPrograms()
  await redis?.stop()
  redis = undefined
})
const indexerOf = ({ urlOf, caFile }: SecuredRedis): Record<string, string> => ({
  ...names,
  REDIS_URL: urlOf('tidemark-indexer'),
  REDIS_CA_FILE: caFile,
})

test('a Redis that asks for client certificates gets that of the process; without the right one it ends with 78', async () => {
  redis = await startSecuredRedis(prefix, { asks: true })
  const { certificate, key } = redis.own
  const settings = indexerOf(redis)
  const indexer = await startProgram('indexer', { ...settings, REDIS_CERT_FILE: certificate, REDIS_KEY_FILE: key })
  await untilReady(indexer)
  expect(await indexer.end('SIGTERM')).toBe(0)

  expect(await refusalOf('indexer', settings)).toBe(
    'REDIS_CERT_FILE must be set: a client certificate is asked for, by REDIS_URL\n',
  )
  const other = await makeCertificates()
  const foreign = { REDIS_CERT_FILE: join(folder, 'foreign.pem'), REDIS_KEY_FILE: join(folder, 'foreign.key') }
  await writeFile(foreign.REDIS_CERT_FILE, other.certificate)
  await writeFile(foreign.REDIS_KEY_FILE, other.key)
  expect(await refusalOf('indexer', { ...settings, ...foreign })).toMatch(
    /^REDIS_CERT_FILE is refused: .*, by REDIS_URL\n$/,
  )
})

test('a Redis Cluster is refused, and told why', async () => {
  redis = await startSecuredRedis(prefix, { more: ['--cluster-enabled', 'yes'] })
  expect(await refusalOf('indexer', indexerOf(redis))).toMatch(/^REDIS_URL names a Redis Cluster, which .* slots/)
})

import { digestOf } from '../../src/core/model/accountKey.ts'
import { readHolders } from '../../src/core/stores/accountKeyStore.ts'
import { connectRedis, type RedisConnection } from '../../src/core/stores/redis.ts'
import { redisKeys } from '../../src/core/stores/redisKeys.ts'
import { eventually } from '../support/eventually.ts'
import { useReplica } from '../support/useApi.ts'

const underTest = useReplica({ teams: ['acme', 'other'] })
let link: RedisConnection
beforeAll(async () => {
  link = connectRedis(process.env['REDIS_URL'] ?? '', () => undefined)
  await eventually(() => link.runId() !== undefined)
})
afterAll(() => link.close())

const read = (...plaintexts: string[]) =>
  readHolders(link, redisKeys(underTest.replica.prefix), plaintexts.map(digestOf))

test('the holders of several keys are found as that of a single one is: not of an unknown key, nor of one that several claim', async () => {
  const { replica } = underTest
  const revoked = await replica.storeKey('acme', { id: 'key-2', state: 'revoked' })
  const contested = await replica.storeKey('acme', { id: 'key-3' })
  await replica.storeKey('other', { id: 'key-4', plaintext: contested })
  const [acme, other] = [underTest.keyOf('acme'), underTest.keyOf('other')]
  expect(await read(acme, 'unknown', revoked, contested, other)).toEqual([
    { teamId: 'acme', keyId: 'key-1', state: 'active', expiresAtMs: null },
    null,
    { teamId: 'acme', keyId: 'key-2', state: 'revoked', expiresAtMs: null },
    null,
    { teamId: 'other', keyId: 'key-1', state: 'active', expiresAtMs: null },
  ])
  await replica.loseAccountKeys()
  expect(await read(acme)).toBeUndefined()
})

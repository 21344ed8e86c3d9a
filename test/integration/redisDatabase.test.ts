import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { connectRedis, type RedisConnection, refusesDatabase } from '../../src/core/redis/redis.ts'
import { eventually, succeeds } from '../support/eventually.ts'
import { ownNames } from '../support/names.ts'
import { refusalOf } from '../support/programs.ts'

const serverUrl = process.env['REDIS_URL'] ?? ''
const [user, password, key] = [`test-${randomUUID()}`, randomUUID(), `test-${randomUUID()}`]
const urlOf = (database: number): string => `${serverUrl.replace('//', `//${user}:${password}@`)}/${database}`

let keeper: Redis
const links: RedisConnection[] = []
const connect = async (database: number, onError = (_: Error): void => undefined): Promise<RedisConnection> => {
  const link = connectRedis({ REDIS_URL: urlOf(database), INDEX_PREFIX: 'test' }, onError)
  links.push(link)
  await eventually(() => link.runId() !== undefined)
  return link
}
beforeAll(async () => {
  keeper = new Redis(serverUrl)
  await keeper.call('ACL', 'SETUSER', user, 'on', `>${password}`, '~*', '&*', '+@all')
})
afterAll(async () => {
  for (const link of links) await link.close()
  await keeper.call('ACL', 'DELUSER', user)
  for (const database of [0, 1]) {
    await keeper.select(database)
    await keeper.del(key)
  }
  keeper.disconnect()
})

test('a start with a database that Redis does not have is refused, because database 0 may be another installation’s', async () => {
  const told = await refusalOf('api', { ...ownNames(), REDIS_URL: `${serverUrl}/99999` })
  expect(told).toMatch(/^REDIS_URL names a database that Redis refuses: .+\n$/)
})

test('a connection that may no longer SELECT its database waits, and neither reads nor writes another one', async () => {
  let refusals = 0
  const { client } = await connect(1, (error) => {
    if (refusesDatabase(error)) refusals++
  })
  await client.set(key, 'first')

  await keeper.call('ACL', 'SETUSER', user, '-select')
  await keeper.call('CLIENT', 'KILL', 'USER', user)
  const attempt = (): Promise<boolean> => succeeds(client.set(key, 'second'))
  const isWritten: boolean[] = []
  await eventually(async () => {
    isWritten.push(await attempt())
    return isWritten.includes(true) || refusals >= 3
  })
  expect(isWritten).not.toContain(true)
  expect(await keeper.get(key)).toBeNull()

  await keeper.call('ACL', 'SETUSER', user, '+select')
  await eventually(attempt)
  expect(await keeper.get(key)).toBeNull()
})

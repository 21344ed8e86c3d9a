import { randomUUID } from 'node:crypto'
import { digestOf } from '../../src/core/model/accountKey.ts'
import type { TeamId } from '../../src/core/model/ids.ts'
import { AccountKeyStore } from '../../src/core/redis/accountKeyStore.ts'
import { shareLookups } from '../../src/core/redis/keyLookups.ts'
import { accountKeyRecord } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import { useStarted } from '../support/lifecycle.ts'
import { usePipeline } from '../support/pipeline.ts'
import { useRedis } from '../support/redisPair.ts'

const digest = digestOf(randomUUID())

const pipeline = usePipeline()
const redis = useRedis(() => pipeline.names.INDEX_PREFIX)
const store = new AccountKeyStore(redis)
const indexer = useStarted('the indexer', () => pipeline.startIndexer())

/** Appends a record of a key; without a name it deletes it. */
async function append(key: string, name: string | null = 'n'): Promise<void> {
  const id = key.slice(key.indexOf('/') + 1)
  const value = name === null ? '{"revision":9,"key":null}' : accountKeyRecord({ id, name, digest })
  await pipeline.produce('account-keys', [{ key, value }])
}
const foundKeyName = async (): Promise<string | undefined> => {
  const lookup = await shareLookups(redis)(digest)
  if (lookup.kind === 'incomplete') throw new Error('the store is incomplete')
  return lookup.kind === 'unknown' ? undefined : `${lookup.accountKey.teamId}/${lookup.accountKey.keyId}`
}
const untilHeldBy = (key: string | undefined): Promise<void> => eventually(async () => (await foundKeyName()) === key)
const contested = (): Promise<number> => indexer.metric('tidemark_contested_account_keys')

test('when two live keys have the same digest, neither works until one is gone, also after a replay, and both are reported', async () => {
  await append('first/k')
  await untilHeldBy('first/k')
  await append('second/k')
  await untilHeldBy(undefined)
  await eventually(async () => (await contested()) === 2)
  for (const key of ['first/k', 'second/k'])
    expect(await indexer.metric('tidemark_contested_account_keys', `key="${key}"`)).toBe(1)
  await redis.lose()
  await eventually(() => store.isComplete())
  expect(await foundKeyName()).toBeUndefined()
  await append('first/k', null)
  await untilHeldBy('second/k')
  await eventually(async () => (await contested()) === 0)
})

test('an account-key record with a stored revision and other content is a dead letter; the same record again is not', async () => {
  for (const name of ['n', 'n', 'renamed']) await append('acme/k', name)
  const letters = await pipeline.deadLetters(1)
  expect(letters.map(({ value, headers }) => [JSON.parse(String(value)).key.name, headers['tidemark.path']])).toEqual([
    ['renamed', 'revision'],
  ])
  expect(await store.list('acme' as TeamId)).toMatchObject([{ name: 'n' }])
})

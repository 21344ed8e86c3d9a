import { randomUUID } from 'node:crypto'
import { digestOf } from '../../src/core/model/accountKey.ts'
import type { TeamId } from '../../src/core/model/ids.ts'
import { AccountKeyStore } from '../../src/core/stores/accountKeyStore.ts'
import type { RedisConnection } from '../../src/core/stores/redis.ts'
import { clearRedis } from '../support/clearRedis.ts'
import { eventually } from '../support/eventually.ts'
import { recordsOf } from '../support/faults.ts'
import type { Program } from '../support/programs.ts'
import { connectReal } from '../support/redisPair.ts'
import { usePipeline } from '../support/usePipeline.ts'

const digest = digestOf(randomUUID())

const pipeline = usePipeline({ forEachTest: true })
let link: RedisConnection
let store: AccountKeyStore
beforeEach(async () => {
  link = await connectReal(pipeline.names['INDEX_PREFIX'])
  store = new AccountKeyStore(link)
})
afterEach(async () => {
  await clearRedis(link.client, pipeline.names['INDEX_PREFIX'])
  await link.close()
})

async function replay(): Promise<void> {
  await clearRedis(link.client, pipeline.names['INDEX_PREFIX'])
  await eventually(() => store.isComplete())
}

type Written = { revision?: number; name?: string }
/** Appends a record of a key; null deletes it. */
async function append(key: string, written: Written | null): Promise<void> {
  const id = key.slice(key.indexOf('/') + 1)
  const { revision = written === null ? 9 : 1, name = 'n' } = written ?? {}
  const entity = { id, name, digest, state: 'active', createdAt: '2026-01-01T00:00:00.000Z', createdBy: 'owner' }
  const value = JSON.stringify({ revision, key: written === null ? null : entity })
  await pipeline.produce('account-keys', [{ key, value }])
}
const holderOf = async (): Promise<string | undefined> => {
  const lookup = await store.lookup(digest)
  if (lookup === 'incomplete') throw new Error('the store is incomplete')
  return lookup.found === null ? undefined : `${lookup.found.teamId}/${lookup.found.keyId}`
}
const untilHeldBy = (key: string | undefined): Promise<void> => eventually(async () => (await holderOf()) === key)
/** The keys that the metric names. */
const contestedIn = async (indexer: Program): Promise<string[]> =>
  [
    ...(await (await fetch(`${indexer.adminUrl}/metrics`)).text()).matchAll(
      /^tidemark_contested_account_keys\{key="([^"]+)"\} 1$/gm,
    ),
  ]
    .map(([, key = '']) => key)
    .sort()

test('a digest that two live keys claim opens neither until one is gone, also after a replay; both are named', async () => {
  const indexer = await pipeline.startIndexer()
  await append('first/k', {})
  await untilHeldBy('first/k')
  await append('second/k', {})
  await untilHeldBy(undefined)
  await eventually(async () => (await contestedIn(indexer)).join() === 'first/k,second/k')
  await replay()
  expect(await holderOf()).toBeUndefined()
  await append('first/k', null)
  await untilHeldBy('second/k')
  await eventually(async () => (await contestedIn(indexer)).length === 0)
})

test('a record of a stored revision with another content is a dead letter; the same one again is not', async () => {
  const indexer = await pipeline.startIndexer()
  await append('acme/k', {})
  await append('acme/k', {})
  await append('acme/k', { name: 'renamed' })
  const topic = pipeline.names['TOPIC_ACCOUNT_KEYS'] ?? ''
  await eventually(async () => (await indexer.metric('tidemark_records_total', topic)) >= 3)
  const letters = await recordsOf(pipeline.kafka, pipeline.names['TOPIC_DEAD_LETTERS'] ?? '')
  expect(
    letters.map(({ value, headers }) => [JSON.parse(String(value)).key.name, `${headers?.['tidemark.path']}`]),
  ).toEqual([['renamed', 'revision']])
  expect(await store.list('acme' as TeamId)).toMatchObject([{ name: 'n' }])
})

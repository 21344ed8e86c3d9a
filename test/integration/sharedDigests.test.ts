import { randomUUID } from 'node:crypto'
import { digestOf } from '../../src/core/model/accountKey.ts'
import type { Digest } from '../../src/core/model/ids.ts'
import { type AccountKeyStore, accountKeyStore } from '../../src/core/stores/accountKeyStore.ts'
import { connectRedis, type RedisConnection } from '../../src/core/stores/redis.ts'
import { redisKeys } from '../../src/core/stores/redisKeys.ts'
import { clearRedis } from '../support/clearRedis.ts'
import { createCompactedTopics, untilCompacted } from '../support/compaction.ts'
import { eventually } from '../support/eventually.ts'
import { recordsOf } from '../support/faults.ts'
import type { Program } from '../support/programs.ts'
import { usePipeline } from '../support/usePipeline.ts'

const partitions = 4

const pipeline = usePipeline({ forEachTest: true })
let link: RedisConnection
let store: AccountKeyStore
let topic: string
beforeEach(async () => {
  link = connectRedis(process.env['REDIS_URL'] ?? '', () => undefined)
  store = accountKeyStore(link, redisKeys(pipeline.names['INDEX_PREFIX'] ?? ''))
  await eventually(() => link.runId() !== undefined)
  topic = pipeline.names['TOPIC_ACCOUNT_KEYS'] ?? ''
  await createCompactedTopics(pipeline, [topic], partitions)
})
afterEach(async () => {
  await clearRedis(link.client, pipeline.names['INDEX_PREFIX'])
  await link.close()
})

async function replay(): Promise<void> {
  await clearRedis(link.client, pipeline.names['INDEX_PREFIX'])
  await eventually(() => store.isComplete())
}

type Written = { revision?: number; name?: string; state?: 'active' | 'revoked'; partition: number }
/** Appends a record of a key, after everything that was appended before. */
async function append(key: string, digest: Digest | null, written: Written): Promise<void> {
  const { partition, revision = 1, name = 'n', state = 'active' } = written
  const id = key.slice(key.indexOf('/') + 1)
  const entity = { id, name, digest, state, createdAt: '2026-01-01T00:00:00.000Z', createdBy: 'owner' }
  const value = digest === null ? null : JSON.stringify({ revision, key: entity })
  const before = pipeline.appendedAtMs()
  await eventually(() => Date.now() > before + 1)
  await pipeline.produce('account-keys', [{ key, value, partition }])
}
const holderOf = async (digest: Digest): Promise<string | undefined> => {
  const lookup = await store.lookup(digest)
  if (lookup === 'incomplete') throw new Error('the store is incomplete')
  return lookup.found === null ? undefined : `${lookup.found.teamId}/${lookup.found.keyId}`
}
const deadLetters = async (): Promise<string[]> => {
  const letters = await recordsOf(pipeline.kafka, pipeline.names['TOPIC_DEAD_LETTERS'] ?? '')
  return letters.map(({ key, value }) => `${key} ${JSON.parse(String(value)).revision}`).sort()
}
const untilRead = (indexer: Program, count: number): Promise<void> =>
  eventually(async () => (await indexer.metric('tidemark_records_total', topic)) >= count)
/** Partitions of the keys' topic that an indexer was given last. */
function partitionsOf(indexer: Program): number[] {
  const joined =
    indexer
      .log()
      .split('\n')
      .findLast((line) => line.includes('joined the group')) ?? '{}'
  const names = (JSON.parse(joined) as { partitions?: string[] }).partitions ?? []
  return names.flatMap((name) => (name.startsWith(`${topic}/`) ? [Number(name.slice(topic.length + 1))] : []))
}
const digests = Array.from({ length: 8 }, () => digestOf(randomUUID()))

test('of two keys with one digest the one appended first holds it, in whichever partitions they are, after every loss of Redis; the other is a dead letter', async () => {
  for (const [at, digest] of digests.entries()) {
    await append(`first/k${at}`, digest, { partition: at % partitions })
    await append(`second/k${at}`, digest, { partition: (at * 3 + 1) % partitions })
  }
  const indexer = await pipeline.startIndexer()
  await untilRead(indexer, 2 * digests.length)
  const firsts = digests.map((_, at) => `first/k${at}`)
  expect(await Promise.all(digests.map(holderOf))).toEqual(firsts)
  expect(await deadLetters()).toEqual(digests.map((_, at) => `second/k${at} 1`))
  for (let losses = 0; losses < 4; losses++) {
    await replay()
    expect(await Promise.all(digests.map(holderOf))).toEqual(firsts)
  }
  expect(await deadLetters()).toHaveLength(digests.length)
})

test('a key that is read late takes its digest from one that was appended after it, which becomes a dead letter then', async () => {
  const [digest = digestOf('')] = digests
  const indexers = [await pipeline.startIndexer(), await pipeline.startIndexer()]
  await eventually(() => indexers.every((indexer) => partitionsOf(indexer).length === partitions / 2))
  const [slow, quick] = indexers as [Program, Program]
  const [early = 0] = partitionsOf(slow)
  const [later = 0] = partitionsOf(quick)
  process.kill(slow.pid, 'SIGSTOP')
  await append('first/k', digest, { partition: early })
  await append('second/k', digest, { partition: later })
  await append('second/k', digest, { partition: later, revision: 2, name: 'renamed' })
  await untilRead(quick, 2)
  expect(await holderOf(digest)).toBe('second/k')
  process.kill(slow.pid, 'SIGCONT')
  await eventually(async () => (await holderOf(digest)) === 'first/k')
  await untilRead(slow, 1)
  expect(await deadLetters()).toEqual(['second/k 2'])
  await append('second/k', digest, { partition: later, revision: 3, name: 'again' })
  await untilRead(quick, 3)
  expect(await deadLetters()).toEqual(['second/k 2', 'second/k 3'])
  await replay()
  expect(await holderOf(digest)).toBe('first/k')
})

test('the holder stays the holder when compaction has taken its first record, revoked or not', async () => {
  const [one = digestOf(''), two = digestOf('')] = digests
  const indexer = await pipeline.startIndexer()
  for (const [digest, id] of [
    [one, 'k1'],
    [two, 'k2'],
  ] as const) {
    await append(`first/${id}`, digest, { partition: 3 })
    await append(`second/${id}`, digest, { partition: 0 })
  }
  await untilRead(indexer, 4)
  await append('first/k1', one, { partition: 3, revision: 2, name: 'renamed' })
  await append('first/k2', two, { partition: 3, revision: 2, state: 'revoked' })
  await untilRead(indexer, 6)
  await untilCompacted(pipeline, 'account-keys', topic, async () => {
    const firsts = (await recordsOf(pipeline.kafka, topic)).filter(({ key }) => String(key).startsWith('first/'))
    return firsts.length === 2
  })
  await replay()
  expect(await Promise.all([one, two].map(holderOf))).toEqual(['first/k1', 'first/k2'])
})

test('when the holder is deleted the next one has the digest, at once and after every loss of Redis', async () => {
  const [digest = digestOf('')] = digests
  const indexer = await pipeline.startIndexer()
  for (const [team, partition] of [
    ['first', 2],
    ['second', 0],
    ['third', 1],
  ] as const)
    await append(`${team}/k`, digest, { partition })
  await untilRead(indexer, 3)
  await append('first/k', null, { partition: 2 })
  await untilRead(indexer, 4)
  expect(await holderOf(digest)).toBe('second/k')
  await replay()
  expect(await holderOf(digest)).toBe('second/k')
})

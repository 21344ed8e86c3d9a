import { setTimeout as sleep } from 'node:timers/promises'
import { redisKeys } from '../../src/core/redis/redisKeys.ts'
import { createCompactedTopics, shortRetentionMs, untilCompacted } from '../support/compaction.ts'
import { eventually } from '../support/eventually.ts'
import { usePipeline } from '../support/pipeline.ts'
import type { Program } from '../support/programs.ts'
import { useRedis } from '../support/redisPair.ts'
import { recordsOf } from '../support/topics.ts'

const pipeline = usePipeline()
const redis = useRedis(() => pipeline.names.INDEX_PREFIX)
const [kept, deleted] = ['kept', 'deleted']
const name = `${deleted}/k1`
let api: Program

const statusOf = async (team: string): Promise<number> => (await pipeline.get(api, team, '/api/v1/forms')).status

/** What Redis holds of account keys, as a snapshot of it would. */
async function takeSnapshot(): Promise<ReadonlyMap<string, Buffer>> {
  const keys = redisKeys(pipeline.names.INDEX_PREFIX)
  const prefixes = [keys.accountKey(''), keys.teamKeys(''), keys.deletedKeys('')]
  const names = (await Promise.all(prefixes.map((prefix) => redis.client.keys(`${prefix}*`)))).flat()
  const read = names.map(async (each) => [each, await redis.client.dumpBuffer(each)] as const)
  return new Map(await Promise.all(read))
}

let snapshot: ReadonlyMap<string, Buffer>

test('a key that was deleted while no indexer ran gets 401, although Kafka has removed the deletion', async () => {
  const topic = pipeline.names.TOPIC_ACCOUNT_KEYS
  await createCompactedTopics(pipeline, [topic], 1, shortRetentionMs)
  const indexer = await pipeline.startIndexer()
  await pipeline.createKeys([kept, deleted])
  api = await pipeline.startApi()
  await eventually(async () => (await statusOf(deleted)) === 200)
  snapshot = await takeSnapshot()
  expect(await indexer.end('SIGTERM')).toBe(0)

  await pipeline.produce('account-keys', [{ key: name, value: null }])
  await sleep(shortRetentionMs)
  const isForgotten = async (): Promise<boolean> => (await recordsOf(pipeline.kafka, topic, [name])).length === 0
  await untilCompacted(pipeline, 'account-keys', topic, isForgotten)
  expect(await statusOf(deleted)).toBe(200)

  const next = await pipeline.startIndexer()
  await eventually(async () => (await statusOf(deleted)) === 401)
  expect(await statusOf(kept)).toBe(200)
  expect(next.log()).toContain('forgot account keys that are in no record any more')
}, 180_000)

test('the deleted key gets 401 also after Redis was restored to a state from before the deletion', async () => {
  const { keys, client } = redis
  for (const [each, dump] of snapshot) await client.restore(each, 0, dump, 'REPLACE')
  // As after the restart with which a snapshot is loaded: the state is that of another run.
  await client.set(keys.accountKeysComplete, 'another run')
  await eventually(async () => (await statusOf(kept)) === 200)
  expect(await statusOf(deleted)).toBe(401)
})

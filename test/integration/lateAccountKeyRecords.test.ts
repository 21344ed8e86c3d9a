import { pino } from 'pino'
import { kafkaSink } from '../../src/core/kafka/sink.ts'
import { digestOf } from '../../src/core/model/accountKey.ts'
import { AccountKeyStore } from '../../src/core/redis/accountKeyStore.ts'
import { shareLookups } from '../../src/core/redis/keyLookups.ts'
import { AccountKeyManager } from '../../src/settings/accountKeyManager.ts'
import { createCompactedTopics, untilCompacted } from '../support/compaction.ts'
import { testConfig } from '../support/config.ts'
import { eventually } from '../support/eventually.ts'
import { untilCommitted } from '../support/indexingProgress.ts'
import { usePipeline } from '../support/pipeline.ts'
import { useRedis } from '../support/redisPair.ts'
import { recordsOf } from '../support/topics.ts'

const [team, by] = ['acme', 'owner']

const pipeline = usePipeline()
const redis = useRedis(() => pipeline.names.INDEX_PREFIX)
const store = new AccountKeyStore(redis)

test('a deleted key stays deleted when its creation reaches Kafka late, from a process that has died', async () => {
  const topic = pipeline.names.TOPIC_ACCOUNT_KEYS
  await createCompactedTopics(pipeline, [topic], 4)
  await pipeline.startIndexer()
  const sink = kafkaSink(pipeline.kafka)
  const log = pino({ level: 'silent' })
  const topics = testConfig(pipeline.names)
  const keys = new AccountKeyManager({ store, sink, topics, keepChange: async () => undefined, log, nowMs: Date.now })

  const { plaintext, key } = await keys.create({ team, name: 'n', by })
  await keys.delete({ team, id: key.id, by })
  const late = { revision: 2, key: { ...key, state: 'active' } }
  const name = `${team}/${key.id}`
  await pipeline.produce('account-keys', [{ key: name, value: JSON.stringify(late) }])
  // Records cannot be counted: compaction may take one before the indexer has read it.
  await untilCommitted(pipeline, [topic])
  const isCompacted = async (): Promise<boolean> => (await recordsOf(pipeline.kafka, topic, [name])).length <= 1
  await untilCompacted(pipeline, 'account-keys', topic, isCompacted)
  await redis.lose()
  await eventually(() => store.isComplete())
  expect(await shareLookups(redis)(digestOf(plaintext))).toEqual({ kind: 'unknown' })
  expect(await keys.list(team)).toEqual([])
  // Every slot is free.
  for (let taken = 0; taken < 10; taken++) await keys.create({ team, name: 'n', by })
  await expect(keys.create({ team, name: 'n', by })).rejects.toMatchObject({ reason: 'full' })
  await sink.disconnect()
})

import { randomBytes } from 'node:crypto'
import { pino } from 'pino'
import { type KafkaSink, kafkaSink } from '../../src/core/kafka/sink.ts'
import { digestOf } from '../../src/core/model/accountKey.ts'
import type { TeamId } from '../../src/core/model/ids.ts'
import { AccountKeyStore } from '../../src/core/stores/accountKeyStore.ts'
import type { RedisConnection } from '../../src/core/stores/redis.ts'
import { AccountKeyManager } from '../../src/settings/accountKeyManager.ts'
import { clearRedis } from '../support/clearRedis.ts'
import { createCompactedTopics, untilCompacted } from '../support/compaction.ts'
import { testConfig } from '../support/config.ts'
import { eventually } from '../support/eventually.ts'
import { recordsOf, untilCommitted } from '../support/faults.ts'
import type { Gate } from '../support/gate.ts'
import { connectReal } from '../support/redisPair.ts'
import { signInAt, type Visitor } from '../support/settings.ts'
import { signInSettings } from '../support/signIns.ts'
import { usePipeline } from '../support/usePipeline.ts'

const team = 'acme' as TeamId
const by = 'owner'

const pipeline = usePipeline({ forEachTest: true })
let link: RedisConnection
let keyStore: AccountKeyStore
let sink: KafkaSink
let topic: string
beforeEach(async () => {
  topic = pipeline.names['TOPIC_ACCOUNT_KEYS'] ?? ''
  await createCompactedTopics(pipeline, [topic], 4)
  link = await connectReal(pipeline.names['INDEX_PREFIX'])
  keyStore = new AccountKeyStore(link)
  sink = kafkaSink(pipeline.kafka)
  await sink.connect()
  await pipeline.startIndexer()
})
afterEach(async () => {
  await clearRedis(link.client, pipeline.names['INDEX_PREFIX'])
  await link.close()
  await sink.disconnect()
})

async function replay(): Promise<void> {
  await clearRedis(link.client, pipeline.names['INDEX_PREFIX'])
  await eventually(() => keyStore.isComplete())
}
/** One process that changes keys; its records wait at `gate`. */
function keysBehind(gate?: Gate): AccountKeyManager {
  return keysSending(async (records) => {
    await gate?.pass()
    await sink.append(records)
  })
}
function keysSending(append: KafkaSink['append']): AccountKeyManager {
  return new AccountKeyManager({
    store: keyStore,
    sink: { append },
    topics: testConfig(pipeline.names),
    log: pino({ level: 'silent' }),
    nowMs: Date.now,
    randomBytes,
  })
}
const isHeld = async (plaintext: string): Promise<boolean> => {
  const lookup = await keyStore.lookup(digestOf(plaintext))
  return lookup === 'incomplete' || lookup.found !== null
}
const recordsOfKey = async (id: string): Promise<string[]> =>
  (await recordsOf(pipeline.kafka, topic))
    .filter(({ key }) => String(key) === `${team}/${id}`)
    .map(({ value }) => String(value))
const isDeletion = (value: unknown): boolean => JSON.parse(String(value)).key === null
/** Records cannot be counted: compaction may take one before the indexer has read it. */
const untilRead = (): Promise<void> => untilCommitted(pipeline, [topic])
/** Compaction leaves one record of the key. */
const compact = (id: string): Promise<unknown> =>
  untilCompacted(pipeline, 'account-keys', topic, async () => (await recordsOfKey(id)).length <= 1)

/** Takes every slot but one, and then the last. */
async function expectSlots(free: number): Promise<void> {
  const keys = keysBehind()
  for (let taken = 0; taken < free; taken++) await keys.create({ team, name: 'n', by })
  await expect(keys.create({ team, name: 'n', by })).rejects.toMatchObject({ reason: 'full' })
}

test('a record that reaches Kafka after the deletion, from a process that has died since, brings nothing back', async () => {
  const { plaintext, key } = await keysBehind().create({ team, name: 'n', by })
  await keysBehind().delete({ team, id: key.id, by })
  const { revision, ...entity } = key
  const late = { revision: revision + 1, key: { ...entity, state: 'active' } }
  await pipeline.produce('account-keys', [{ key: `${team}/${key.id}`, value: JSON.stringify(late) }])
  await untilRead()
  await compact(key.id)
  await replay()
  expect([await isHeld(plaintext), await keysBehind().list(team)]).toEqual([false, []])
  await expectSlots(10)
})

test('two processes that revoke and delete one key at once leave it deleted, whoever comes first', async () => {
  const rounds = 40
  const areas = [await pipeline.startSettings(signInSettings), await pipeline.startSettings(signInSettings)]
  const [revoker, deleter] = await Promise.all(areas.map(({ url }) => signInAt(url, { team })))
  const change = async (owner: Visitor | undefined, path: string): Promise<number> => {
    const { csrf = '' } = (await owner?.hidden()) ?? {}
    return (await owner?.post(path, { csrf }))?.status ?? 0
  }
  const ids: string[] = []
  for (let round = 0; round < rounds; round++) {
    const { id } = (await keysBehind().create({ team, name: 'n', by })).key
    ids.push(id)
    const statuses = await Promise.all([change(deleter, `/keys/${id}/delete`), change(revoker, `/keys/${id}/revoke`)])
    expect(statuses[0]).toBe(303)
    expect([303, 404]).toContain(statuses[1])
  }
  const records = await recordsOf(pipeline.kafka, topic)
  const last = new Map(records.map(({ key, value }) => [String(key), value]))
  expect(ids.filter((id) => !isDeletion(last.get(`${team}/${id}`)))).toEqual([])
  await replay()
  expect(await keysBehind().list(team)).toEqual([])
  await expectSlots(10)
})

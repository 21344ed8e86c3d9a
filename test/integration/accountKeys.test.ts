import { pino } from 'pino'
import type { KafkaSink } from '../../src/core/kafka/sink.ts'
import { appendPositionOf } from '../../src/core/kafka/sourceRecord.ts'
import { deletedAfter, digestOf } from '../../src/core/model/accountKey.ts'
import { type EntityId, maxRevision, type Revision, type TeamId } from '../../src/core/model/ids.ts'
import { readAccountKeyRecord } from '../../src/core/model/record.ts'
import { AccountKeyStore } from '../../src/core/redis/accountKeyStore.ts'
import { shareLookups } from '../../src/core/redis/keyLookups.ts'
import { AccountKeyManager, KeyChangeIncomplete } from '../../src/settings/accountKeyManager.ts'
import { unreadChanges } from '../../src/settings/unreadChanges.ts'
import { keyState } from '../support/entities.ts'
import { useRedis } from '../support/redisPair.ts'

const positionOf = (offset: number) => appendPositionOf({ partition: 0, offset: BigInt(offset) })
const nowMs = Date.parse('2026-05-01T12:00:00.000Z')
const team = 'acme'
const by = 'owner-1'

const redis = useRedis()
const keyStore = new AccountKeyStore(redis)
beforeEach(async () => {
  await (await keyStore.beginReplay('first')).complete()
})

type Sent = { key: string; value: string | null }
/** Kafka as far as the rules see it: it takes records, or rejects them while it is away. */
function kafka() {
  const state = {
    isAway: false,
    /** After so many records of the next append, the connection breaks. */
    breaksAfter: undefined as number | undefined,
    sent: [] as Sent[],
    audit: [] as Sent[],
    onSend: async (): Promise<void> => undefined,
  }
  const append: KafkaSink['append'] = async (records) => {
    await state.onSend()
    if (state.isAway) throw new Error('no broker')
    const taken = records.slice(0, state.breaksAfter)
    for (const { topic, key, value } of taken)
      state[topic as 'sent' | 'audit'].push({ key: String(key), value: value === null ? null : String(value) })
    const isBroken = state.breaksAfter !== undefined
    state.breaksAfter = undefined
    if (isBroken) throw new Error('the connection broke')
  }
  return { state, sink: { append } }
}
function keysOver(over: Partial<AccountKeyStore> = {}, atMs = nowMs) {
  const { state, sink } = kafka()
  const logged: string[] = []
  const keys = new AccountKeyManager({
    store: Object.assign(new AccountKeyStore(redis), over),
    sink,
    topics: { TOPIC_ACCOUNT_KEYS: 'sent', TOPIC_KEY_AUDIT: 'audit' },
    keepChange: async () => undefined,
    log: pino({ base: null, timestamp: false }, { write: (line) => logged.push(line) }),
    nowMs: () => atMs,
  })
  return { kafka: state, logged, keys }
}
const foundKeyOf = async (plaintext: string) => {
  const lookup = await shareLookups(redis)(digestOf(plaintext))
  if (lookup.kind === 'found') return lookup.accountKey
  return lookup.kind === 'unknown' ? null : 'incomplete'
}

test('a created key works at once, and Kafka has its record, without the plaintext', async () => {
  const { keys, kafka } = keysOver()
  const { plaintext, key } = await keys.create({ team, name: 'Dashboard', by, expires: '2027-01-01T01:00:00+01:00' })
  const expiresAtMs = Date.parse('2027-01-01T00:00:00Z')
  expect(await foundKeyOf(plaintext)).toEqual({ teamId: team, keyId: key.id, state: 'active', expiresAtMs })
  expect(kafka.sent.map((sent) => sent.key)).toEqual([`${team}/${key.id}`])
  expect(JSON.stringify(kafka.sent)).not.toContain(plaintext)
  const [record] = kafka.sent
  const read = readAccountKeyRecord(Buffer.from(record?.key ?? ''), Buffer.from(record?.value ?? ''))
  expect(read).toMatchObject({ ok: true, value: { revision: 1, key: { name: 'Dashboard', createdBy: by } } })
})

test('a key whose name has half a surrogate pair can be created, listed and revoked', async () => {
  const { keys } = keysOver()
  const { key } = await keys.create({ team, name: 'half \ud800', by: '\udc00' })
  await keys.revoke({ team, id: key.id, by: '\udc00' })
  await keys.create({ team, name: 'next', by })
  expect((await keys.list(team)).map(({ name }) => name).sort()).toEqual(['half \ufffd', 'next'])
})

describe('A seed', () => {
  const seed = Buffer.alloc(32, 7)

  test('gives the same key for repeated and concurrent requests', async () => {
    const { keys } = keysOver()
    const asked = await Promise.all(Array.from({ length: 20 }, () => keys.create({ team, name: 'n', by, seed })))
    asked.push(await keys.create({ team, name: 'another name', by, seed }))
    expect(new Set(asked.map(({ plaintext, key }) => `${plaintext} ${key.id} ${key.name}`)).size).toBe(1)
    expect(await keys.list(team)).toHaveLength(1)
    expect(await foundKeyOf(asked[0]?.plaintext ?? '')).toMatchObject({ state: 'active' })
    const { key } = await keys.create({ team, name: 'n', by })
    expect(key.id).not.toBe(asked[0]?.key.id)
  })

  test('gives a key that stays when another process fails to create it from the same seed', async () => {
    const { keys, kafka } = keysOver()
    const request = { team, name: 'n', by, seed }
    let plaintext = ''
    kafka.onSend = async () => {
      kafka.isAway = true
      if (plaintext === '') plaintext = (await keysOver().keys.create(request)).plaintext
    }
    await expect(keys.create(request)).rejects.toThrow(KeyChangeIncomplete)
    expect(await foundKeyOf(plaintext)).toMatchObject({ state: 'active' })
  })

  test('leaves no key when the key is deleted while it is created', async () => {
    const { keys, kafka } = keysOver()
    kafka.onSend = async () => {
      kafka.onSend = async () => undefined
      const id = (await redis.client.hkeys(redis.keys.teamKeys(team as TeamId)))[0] as EntityId
      await keyStore.apply(team as TeamId, id, deletedAfter(1 as Revision))
    }
    await expect(keys.create({ team, name: 'n', by, seed })).rejects.toMatchObject({ reason: 'deleted' })
    expect(kafka.sent.map(({ value }) => JSON.parse(value ?? '').key === null)).toEqual([false, true])
  })
})

test('every change is logged and audited, with who, when and which key, and never with the plaintext', async () => {
  const { keys, kafka, logged } = keysOver()
  const { plaintext, key } = await keys.create({ team, name: 'Dashboard', by })
  await keys.revoke({ team, id: key.id, by: 'owner-2' })
  await keys.delete({ team, id: key.id, by: 'owner-3' })
  const about = { id: key.id, name: 'Dashboard', start: plaintext.slice(0, 13), expiresAt: null }
  const at = '2026-05-01T12:00:00.000Z'
  const changes = [
    { at, by, team, change: 'created', key: about },
    { at, by: 'owner-2', team, change: 'revoked', key: about },
    { at, by: 'owner-3', team, change: 'deleted', key: about },
  ]
  expect(kafka.audit.map((kept) => [kept.key, JSON.parse(kept.value ?? '')])).toEqual(
    changes.map((change) => [`${team}/${key.id}`, change]),
  )
  expect(logged.map((line) => JSON.parse(line))).toMatchObject(
    changes.map(({ change, by }) => ({ msg: 'account key changed', change, teamId: team, keyId: key.id, by })),
  )
  expect(JSON.stringify([kafka.audit, logged])).not.toContain(plaintext)
})

describe('When Kafka fails', () => {
  test('no key is created and the slot is released, also if Kafka has written the record after all', async () => {
    const { keys, kafka } = keysOver()
    kafka.isAway = true
    for (let at = 0; at < 12; at++)
      await expect(keys.create({ team, name: 'n', by })).rejects.toThrow(KeyChangeIncomplete)
    expect(await keys.list(team)).toEqual([])
    kafka.isAway = false
    let id = ''
    const writing = keysOver({
      reserve: async (...all) => {
        id = all[1]
        return await keyStore.reserve(...all)
      },
    })
    writing.kafka.isAway = true
    await expect(writing.keys.create({ team, name: 'n', by })).rejects.toThrow('no broker')
    expect(await keyStore.apply(team as TeamId, id as EntityId, keyState({ id }))).toMatchObject({ kind: 'stale' })
  })

  test('no change of a key is in Kafka without its audit record, wherever the connection breaks', async () => {
    const { keys, kafka } = keysOver()
    const { key } = await keys.create({ team, name: 'n', by })
    const changes = [
      () => keys.create({ team, name: 'other', by }),
      () => keys.revoke({ team, id: key.id, by }),
      () => keys.delete({ team, id: key.id, by }),
    ]
    for (const change of changes) {
      const isLive = ({ value }: Sent): boolean => value?.includes('"key":null') === false
      const [audits, live] = [kafka.audit.length, kafka.sent.filter(isLive).length]
      kafka.breaksAfter = 1
      await expect(change()).rejects.toThrow(KeyChangeIncomplete)
      expect(kafka.audit).toHaveLength(audits + 1)
      expect(kafka.sent.filter(isLive)).toHaveLength(live)
    }
    expect(kafka.sent.filter((sent) => sent.key === `${team}/${key.id}`)).toHaveLength(1)
  })

  test('a record that Kafka stored without an acknowledgement is followed by its deletion', async () => {
    const { keys, kafka } = keysOver()
    const auditAndKey = 2
    kafka.breaksAfter = auditAndKey
    await expect(keys.create({ team, name: 'n', by })).rejects.toThrow('no key was created')
    const [created, deleted] = kafka.sent
    expect(kafka.sent).toHaveLength(2)
    expect(deleted).toEqual({ key: created?.key, value: '{"revision":2,"key":null}' })
    expect(await keys.list(team)).toEqual([])
  })
})

test.each([false, true])(
  'a key whose slot Redis lost and gave to another key is removed again, also when an indexer has applied its record: %s',
  async (isApplied) => {
    const { keys, kafka } = keysOver({
      find: async (teamId, id) => {
        const own = kafka.sent.find(({ key }) => key === `${teamId}/${id}`)
        if (isApplied && own !== undefined) await keyStore.apply(teamId, id, JSON.parse(own.value ?? ''))
        return await keyStore.find(teamId, id)
      },
    })
    kafka.onSend = async () => {
      kafka.onSend = async () => undefined
      await redis.client.del(redis.keys.teamKeys(team as TeamId))
      for (let at = 0; at < 10; at++) await keysOver().keys.create({ team, name: 'meanwhile', by })
    }
    await expect(keys.create({ team, name: 'n', by })).rejects.toMatchObject({ reason: 'full' })
    expect((await keys.list(team)).map(({ name }) => name)).toEqual(Array.from({ length: 10 }, () => 'meanwhile'))
    expect(kafka.sent.map(({ value }) => JSON.parse(value ?? '').key === null)).toEqual([false, true])
  },
)

test('a key that is in Kafka but not in Redis is reported so, without its plaintext', async () => {
  const { keys } = keysOver({ apply: async () => Promise.reject(new Error('Redis is away')) })
  const why = /is recorded, but Redis does not have it.*delete it/
  await expect(keys.create({ team, name: 'n', by })).rejects.toThrow(why)
})

test.each([
  ['a name of nothing', { name: '' }, 'name must be'],
  ['a name of 101 characters', { name: 'x'.repeat(101) }, 'name must be'],
  ['a team that is no id', { team: 'a/b' }, 'team must be'],
  ['an expiry without offset', { expires: '2027-01-01T00:00:00' }, 'expires must be'],
  ['an expiry that has passed', { expires: '2026-05-01T12:00:00Z' }, 'future'],
])('%s is refused before anything is written', async (_, wrong, message) => {
  const { keys, kafka } = keysOver()
  await expect(keys.create({ team, name: 'n', by, ...wrong })).rejects.toThrow(message)
  expect([kafka.sent, await redis.client.keys(`${redis.keys.teamKeys('')}*`)]).toEqual([[], []])
})

test('a key whose revision is the greatest can be revoked, and stays listed until it is deleted', async () => {
  const { keys, kafka } = keysOver()
  const id = 'last' as EntityId
  await keyStore.apply(team as TeamId, id, keyState({ id, revision: maxRevision, digest: digestOf('last') }))
  const stateIn = (sent: Sent | undefined) =>
    readAccountKeyRecord(Buffer.from(sent?.key ?? ''), Buffer.from(sent?.value ?? ''))
  await keys.revoke({ team, id, by })
  expect(stateIn(kafka.sent.at(-1))).toMatchObject({ ok: true, value: { key: { state: 'revoked', revokedBy: by } } })
  expect(await foundKeyOf('last')).toMatchObject({ state: 'revoked' })
  expect(await keys.list(team)).toMatchObject([{ id, state: 'revoked' }])
  await keys.delete({ team, id, by })
  expect(stateIn(kafka.sent.at(-1))).toMatchObject({ ok: true, value: { key: null } })
  expect(await foundKeyOf('last')).toBeNull()
  expect(await keys.list(team)).toEqual([])
})

test.each(['revoke', 'delete'] as const)(
  'a %s takes effect although Redis was lost and filled again meanwhile',
  async (change) => {
    const { kafka, keys } = keysOver()
    const { key, plaintext } = await keys.create({ team, name: 'lost', by })
    const [created] = kafka.sent
    kafka.onSend = async () => {
      kafka.onSend = async () => undefined
      await redis.lose()
      const replay = await keyStore.beginReplay('second')
      const read = readAccountKeyRecord(Buffer.from(created?.key ?? ''), Buffer.from(created?.value ?? ''))
      if (!read.ok) throw new Error('the record of the creation is read')
      await keyStore.apply(read.value.teamId, read.value.entityId, read.value)
      await replay.complete()
    }
    await keys[change]({ team, id: key.id, by })
    const expected = { revoke: expect.objectContaining({ state: 'revoked' }), delete: null }
    expect(await foundKeyOf(plaintext)).toEqual(expected[change])
  },
)

test.each(['revoke', 'delete'] as const)(
  'a %s whose process was killed before Kafka stored it is appended again after a minute, until an indexer has read it',
  async (change) => {
    const { kafka, keys } = keysOver()
    const { key } = await keys.create({ team, name: 'n', by })
    await keyStore.apply(team as TeamId, key.id as EntityId, JSON.parse(kafka.sent[0]?.value ?? ''), positionOf(0))
    kafka.isAway = true
    await expect(keys[change]({ team, id: key.id, by })).rejects.toThrow(KeyChangeIncomplete)
    kafka.isAway = false
    const listedAfter = (ms: number) => unreadChanges(keyStore, keys, () => nowMs + ms)(team as TeamId)
    await listedAfter(60_000)
    expect(kafka.sent).toHaveLength(1)
    await listedAfter(60_001)
    const state = JSON.parse(kafka.sent[1]?.value ?? '')
    expect(state).toMatchObject({ revision: 2, key: change === 'delete' ? null : { state: 'revoked' } })
    const done = { revoke: { change: 'revoked', by }, delete: { change: 'deleted', by: 'tidemark' } }
    expect(JSON.parse(kafka.audit[1]?.value ?? '')).toMatchObject(done[change])
    await keyStore.apply(team as TeamId, key.id as EntityId, state, positionOf(1))
    await listedAfter(600_000)
    expect(kafka.sent).toHaveLength(2)
  },
)

import {
  type AccountKeySurvey,
  compareAccountKeys,
  ExpectedAccountKeys,
  verifyAccountKeys,
} from '../../../../indexer/verify/compareAccountKeys.ts'
import { DifferenceReport } from '../../../../indexer/verify/differenceReport.ts'
import type { VerifyContext } from '../../../../indexer/verify/verifyContext.ts'
import type { ReadOptions } from '../../../../src/core/kafka/readTopic.ts'
import { noHeaders } from '../../../../src/core/kafka/recordHeaders.ts'
import type { SourceRecord } from '../../../../src/core/kafka/sourceRecord.ts'
import { digestOf } from '../../../../src/core/model/accountKey.ts'
import { documentId, type EntityId, type Offset, type Revision, type TeamId } from '../../../../src/core/model/ids.ts'
import { testConfig } from '../../../support/config.ts'
import { withMembers } from '../../../support/lifecycle.ts'
import { connectSimulated } from '../../../support/redisPair.ts'

const team = 'acme' as TeamId
const idOf = (id: string): EntityId => id as EntityId
const keyOf = (id: string) => documentId(team, idOf(id))

type Changes = { revision?: number; digest?: string; state?: string; expiresAt?: string; name?: string }

/** A record of `account-keys`, appended at a second; without changes a deletion. */
const recordOf = (id: string, atSecond: number, changes: Changes | null): SourceRecord => ({
  ...{ topic: 'account-keys', partition: 0, offset: BigInt(atSecond) as Offset, appendedAtMs: 1_000 * atSecond },
  ...{ key: Buffer.from(`${team}/${id}`), headers: noHeaders },
  value: Buffer.from(JSON.stringify(changes === null ? { revision: 9, key: null } : recordValue(id, changes))),
})
const recordValue = (id: string, { revision = 1, digest = digestOf(id), ...changes }: Changes) => ({
  revision,
  key: { id, name: id, digest, state: 'active', createdAt: '2026-01-01T00:00:00.000Z', createdBy: 'x', ...changes },
})

function expectedOf(...records: readonly SourceRecord[]): ExpectedAccountKeys {
  const expected = new ExpectedAccountKeys()
  for (const record of records) expected.apply(record)
  return expected
}

/** A store that has exactly the expected keys. */
const storeOf = (expected: ExpectedAccountKeys): AccountKeySurvey => ({
  states: new Map([...expected.states].map(([id, [state]]) => [id, state])),
  claims: new Map(
    [...expected.claims()].map(([digest, claims]) => [digest, claims.flatMap(([holder]) => holder ?? [])]),
  ),
})
const kindsOf = (
  expected: ExpectedAccountKeys,
  stored: AccountKeySurvey,
  of: TeamId | undefined = undefined,
): string[] =>
  [...compareAccountKeys(expected, stored, of).values()].map(({ kind, id }) => `${kind} ${id.split('/')[1]}`).sort()

test('the expected key has the highest revision, then the revocation, and a deletion above all, in any order', () => {
  const records = [
    recordOf('a', 1, { revision: 1 }),
    recordOf('a', 2, { revision: 3, state: 'revoked' }),
    recordOf('a', 3, { revision: 3 }),
    recordOf('a', 4, { revision: 2 }),
    recordOf('b', 5, null),
    recordOf('b', 6, { revision: 12 }),
    { ...recordOf('c', 7, null), value: null },
  ]
  for (const order of [records, records.toReversed()]) {
    const states = [...expectedOf(...order).states].map(([id, newest]) => {
      return `${id} ${newest.map(({ revision, key }) => (key ? `${revision} ${key.state}` : 'deleted')).join()}`
    })
    expect(states.sort()).toEqual(['acme/a 3 revoked', 'acme/b deleted', 'acme/c deleted'])
  }
})

test('several live keys with one digest are each a difference, until only one of them has it', () => {
  const digest = digestOf('shared')
  const records = [recordOf('a', 2, { digest }), recordOf('b', 1, { digest, state: 'revoked' })]
  const judge = (...more: readonly SourceRecord[]): string[] => {
    const expected = expectedOf(...records, ...more)
    return kindsOf(expected, storeOf(expected))
  }
  expect(judge()).toEqual(['key-contested a', 'key-contested b'])
  expect(judge(recordOf('b', 9, null))).toEqual([])
  expect(judge(recordOf('b', 9, { revision: 2, digest: digestOf('other') }))).toEqual([])
  // Redis opens a key that it must not.
  const expected = expectedOf(...records)
  const [first] = expected.claims().get(digest) ?? []
  const opened = { ...storeOf(expected), claims: new Map([[digest, first ?? []]]) }
  expect(kindsOf(expected, opened)).toEqual(['key-accepted a', 'key-contested a', 'key-contested b'])
})

test('a key with live records in two partitions is a difference that says so', () => {
  const expected = expectedOf(recordOf('a', 1, {}), { ...recordOf('a', 2, {}), partition: 1 })
  const differences = [...compareAccountKeys(expected, storeOf(expected), undefined).values()]
  expect(differences.map(({ kind, detail }) => [kind, detail])).toEqual([
    ['key-contested', 'not accepted: its live records are in two partitions'],
  ])
})

test('a store that equals the topic has no difference, nor has a deletion that only Redis still has', () => {
  const expected = expectedOf(recordOf('a', 1, {}), recordOf('b', 2, { state: 'revoked' }), recordOf('c', 3, null))
  const stored = storeOf(expected)
  expect(kindsOf(expected, stored)).toEqual([])
  const forgotten = [keyOf('x'), { revision: 2 as Revision, key: null }] as const
  expect(kindsOf(expected, { ...stored, states: new Map([...stored.states, forgotten]) })).toEqual([])
})

test('a key that Redis accepts although the topic does not, or for longer, is a difference of its own kind', () => {
  const expiresAt = '2027-01-01T00:00:00.000Z'
  const expected = expectedOf(
    recordOf('a', 1, { state: 'revoked' }),
    recordOf('b', 2, { expiresAt }),
    recordOf('c', 3, {}),
  )
  const stored = storeOf(expected)
  const found = (keyId: string, expiresAtMs: number | null = null) =>
    [digestOf(keyId), [{ teamId: team, keyId: idOf(keyId), state: 'active' as const, expiresAtMs }]] as const
  const plantedIn = (...planted: ReturnType<typeof found>[]): AccountKeySurvey => ({
    ...stored,
    claims: new Map([...stored.claims, ...planted]),
  })
  expect(kindsOf(expected, plantedIn(found('a')))).toEqual(['key-accepted a'])
  expect(kindsOf(expected, plantedIn(found('b')))).toEqual(['key-accepted b'])
  expect(kindsOf(expected, plantedIn(found('x')))).toEqual(['key-accepted x'])
  expect(kindsOf(expected, plantedIn([digestOf('c'), found('a')[1]]))).toEqual(['key-accepted a'])
  // It expires earlier than it should: nobody gets in.
  expect(kindsOf(expected, plantedIn(found('c', 1)))).toEqual(['key-differs c'])
  expect(kindsOf(expected, plantedIn(found('x')), 'another' as TeamId)).toEqual([])
})

test('a key that is missing, differs or is not deleted is reported', () => {
  const expected = expectedOf(recordOf('a', 1, {}), recordOf('b', 2, null))
  const stored = storeOf(expected)
  const [a, b] = [stored.states.get(keyOf('a')), stored.states.get(keyOf('b'))]
  if (a?.key == null || b === undefined) throw new Error('no key is expected')
  const kindsWith = (states: Readonly<Record<string, typeof a>>): string[] =>
    kindsOf(expected, { ...stored, states: new Map(Object.entries(states).map(([id, state]) => [keyOf(id), state])) })
  expect(kindsOf(expected, { ...stored, claims: new Map() })).toEqual(['key-missing a'])
  expect(kindsWith({ b })).toEqual(['key-missing a'])
  expect(kindsWith({ a: b, b })).toEqual(['key-missing a'])
  expect(kindsWith({ a: { ...a, key: { ...a.key, name: 'other' } }, b })).toEqual(['key-differs a'])
  expect(kindsWith({ a, x: a, b })).toEqual(['key-differs x'])
  expect(kindsWith({ a })).toEqual(['key-deletion b'])
})

test('if two writers made one revision at once, the store may have either state, and no other', () => {
  const contents = [{ name: 'one' }, { name: 'two', expiresAt: '2027-01-01T00:00:00.000Z' }]
  const [one, two] = contents.map((each, at) => recordOf('a', at, each)) as [SourceRecord, SourceRecord]
  const third = recordOf('a', 2, { name: 'three' })
  for (const expected of [expectedOf(one, two), expectedOf(two, one, two)]) {
    for (const each of [one, two]) expect(kindsOf(expected, storeOf(expectedOf(each)))).toEqual([])
    expect(kindsOf(expected, storeOf(expectedOf(third)))).toEqual(['key-differs a'])
  }
})

test('a key that differs only for a moment is not reported, because a change reaches Kafka and Redis one after the other', async () => {
  const connected = await connectSimulated()
  // Redis holds no key.
  const redis = withMembers(connected, { client: withMembers(connected.client, { scanStream: () => [] }) })
  await redis.client.set(redis.keys.accountKeysComplete, redis.runId() ?? '')
  let comparisons = 0
  const source = {
    readTopic: async ({ onRecord }: Pick<ReadOptions, 'onRecord'>) => {
      // From the second comparison on, the first difference is gone, and another one is there.
      await onRecord(recordOf(comparisons++ === 0 ? 'first' : 'later', 1, { revision: 1 }))
    },
  }
  const tools = { source, redis, report: { step: () => undefined }, signal: new AbortController().signal }
  const config = testConfig({ ELASTICSEARCH_URL: 'http://127.0.0.1:9', REDIS_URL: 'redis://127.0.0.1:9' })
  const context = { ...tools, config, team, pauseAfterWork: async () => undefined } as unknown as VerifyContext
  const differences = new DifferenceReport()
  await verifyAccountKeys(context, differences)
  expect([differences.report().lines, comparisons]).toEqual([[], 2])
  await redis.close()
})

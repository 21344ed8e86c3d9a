import { AccountKeyFold } from '../../../../indexer/verify/accountKeyFold.ts'
import { compareAccountKeys, type StoredAccountKeys } from '../../../../indexer/verify/compareAccountKeys.ts'
import { digestOf } from '../../../../src/core/model/accountKey.ts'
import type { EntityId, Offset, TeamId } from '../../../../src/core/model/ids.ts'
import { claimRecord, deletedRecords, newestRecord } from '../../../../src/core/stores/accountKeyMemory.ts'
import { type AppendPosition, appendPositionOf, type StoredKey } from '../../../../src/core/stores/accountKeyStore.ts'
import type { NewRecord } from '../../../../src/core/stores/kafkaSink.ts'
import type { SourceRecord } from '../../../../src/core/stores/sourceRecord.ts'

const team = 'acme' as TeamId
const idOf = (id: string): EntityId => id as EntityId

type Changes = { revision?: number; digest?: string; state?: string; expiresAt?: string }

/** A record of `account-keys`, appended at a second; without changes a deletion. */
const recordOf = (id: string, atSecond: number, changes: Changes | null): SourceRecord => ({
  ...{ topic: 'account-keys', partition: 0, offset: BigInt(atSecond) as Offset, appendedAtMs: 1_000 * atSecond },
  ...{ key: Buffer.from(`${team}/${id}`), headers: {} },
  value: changes === null ? null : Buffer.from(JSON.stringify(recordValue(id, changes))),
})
const recordValue = (id: string, { revision = 1, digest = digestOf(id), ...changes }: Changes) => ({
  revision,
  key: { id, name: id, digest, state: 'active', createdAt: '2026-01-01T00:00:00.000Z', createdBy: 'x', ...changes },
})
const memory = ({ key, value }: NewRecord): SourceRecord => ({
  ...recordOf('x', 0, null),
  key: Buffer.from(String(key)),
  value: value === null ? null : Buffer.from(String(value)),
})

function foldOf(...records: readonly SourceRecord[]): AccountKeyFold {
  const fold = new AccountKeyFold()
  for (const record of records) fold.apply(record)
  return fold
}

/** A store that holds exactly what the fold demands. */
const storeOf = (fold: AccountKeyFold): StoredAccountKeys => ({
  keys: fold.live().flatMap(({ teamId, keyId, newest: [stored] }) => (stored ? [{ teamId, keyId, stored }] : [])),
  holders: new Map([...fold.holders()].flatMap(([digest, [holder]]) => (holder ? [[digest, holder] as const] : []))),
  deleted: fold.deleted,
})
const kindsOf = (fold: AccountKeyFold, stored: StoredAccountKeys, of: TeamId | undefined = undefined): string[] =>
  [...compareAccountKeys(fold, stored, of).values()].map(({ kind, id }) => `${kind} ${id}`).sort()

test('the highest revision counts, then the revocation, and a deletion above all, in any order', () => {
  const records = [
    recordOf('a', 1, { revision: 1 }),
    recordOf('a', 2, { revision: 3, state: 'revoked' }),
    recordOf('a', 3, { revision: 3 }),
    recordOf('a', 4, { revision: 2 }),
    recordOf('b', 5, null),
    recordOf('b', 6, { revision: 9 }),
  ]
  for (const order of [records, records.toReversed()]) {
    const fold = foldOf(...order)
    expect(
      fold.live().map(({ keyId, newest }) => [keyId, newest.map(({ revision, state }) => [revision, state])]),
    ).toEqual([['a', [[3, 'revoked']]]])
    expect(fold.deleted.get(team)).toEqual(new Set(['b']))
  }
})

test('of several keys with one digest the first one holds it, until it is deleted or has another digest', () => {
  const digest = digestOf('shared')
  const records = [recordOf('a', 2, { digest }), recordOf('b', 1, { digest }), recordOf('c', 3, { digest })]
  const holderOf = (...more: readonly SourceRecord[]): string | undefined =>
    foldOf(...records, ...more)
      .holders()
      .get(digest)?.[0]?.keyId
  expect(holderOf()).toBe('b')
  expect(holderOf(recordOf('b', 9, null))).toBe('a')
  expect(holderOf(recordOf('b', 9, { revision: 2, digest: digestOf('other') }))).toBe('a')
  expect(holderOf(recordOf('b', 9, { revision: 2, digest, state: 'revoked' }))).toBe('b')
})

test('the memory topic keeps deletions, first claims and newest states', () => {
  const digest = digestOf('shared')
  const fold = foldOf(recordOf('a', 5, { digest }), recordOf('b', 6, { digest }), recordOf('d', 7, {}))
  const newest = { ...recordValue('d', {}).key, revision: 4, state: 'revoked' } as StoredKey
  const position = appendPositionOf({ appendedAtMs: 0, partition: 0, offset: 0n }) satisfies AppendPosition
  fold.applyMemory(memory(claimRecord('m', { teamId: team, keyId: idOf('b'), digest, position })))
  fold.applyMemory(memory(newestRecord('m', team, idOf('d'), newest)))
  for (const record of deletedRecords('m', team, idOf('c'))) fold.applyMemory(memory(record))
  expect(fold.holders().get(digest)?.[0]?.keyId).toBe('b')
  expect(fold.live().find(({ keyId }) => keyId === 'd')?.newest).toMatchObject([{ revision: 4, state: 'revoked' }])
  expect(fold.deleted.get(team)).toEqual(new Set(['c']))
})

test('a store that holds what the topics say has no difference', () => {
  const fold = foldOf(recordOf('a', 1, {}), recordOf('b', 2, { state: 'revoked' }), recordOf('c', 3, null))
  expect(kindsOf(fold, storeOf(fold))).toEqual([])
})

test('a key that Redis accepts, and the topics do not or not for so long, is a difference of its own kind', () => {
  const expiresAt = '2027-01-01T00:00:00.000Z'
  const fold = foldOf(recordOf('a', 1, { state: 'revoked' }), recordOf('b', 2, { expiresAt }), recordOf('c', 3, {}))
  const stored = storeOf(fold)
  const found = (keyId: string, expiresAtMs: number | null = null) =>
    [digestOf(keyId), { teamId: team, keyId: idOf(keyId), state: 'active', expiresAtMs }] as const
  const plantedIn = (...planted: ReturnType<typeof found>[]): StoredAccountKeys => ({
    ...stored,
    holders: new Map([...stored.holders, ...planted]),
  })
  expect(kindsOf(fold, plantedIn(found('a')))).toEqual(['key-accepted a'])
  expect(kindsOf(fold, plantedIn(found('b')))).toEqual(['key-accepted b'])
  expect(kindsOf(fold, plantedIn(found('x')))).toEqual(['key-accepted x'])
  expect(kindsOf(fold, plantedIn([digestOf('c'), found('a')[1]]))).toEqual(['key-accepted a'])
  // It expires earlier than it should: nobody gets in.
  expect(kindsOf(fold, plantedIn(found('c', 1)))).toEqual(['key-differs c'])
  expect(kindsOf(fold, plantedIn(found('x')), 'another' as TeamId)).toEqual([])
})

test('a key that is missing, differs, or is not remembered as deleted is named', () => {
  const fold = foldOf(recordOf('a', 1, {}), recordOf('b', 2, null))
  const stored = storeOf(fold)
  const [key] = stored.keys
  if (key === undefined) throw new Error('the fold has no key')
  expect(kindsOf(fold, { ...stored, holders: new Map() })).toEqual(['key-missing a'])
  expect(kindsOf(fold, { ...stored, keys: [] })).toEqual(['key-missing a'])
  expect(kindsOf(fold, { ...stored, deleted: new Map([[team, new Set([idOf('a'), idOf('b')])]]) })).toEqual([
    'key-missing a',
  ])
  const renamed = { ...key, stored: { ...key.stored, name: 'other' } }
  expect(kindsOf(fold, { ...stored, keys: [renamed] })).toEqual(['key-differs a'])
  expect(kindsOf(fold, { ...stored, keys: [key, { ...key, keyId: idOf('x') }] })).toEqual(['key-differs x'])
  expect(kindsOf(fold, { ...stored, deleted: new Map() })).toEqual(['key-deletion b'])
})

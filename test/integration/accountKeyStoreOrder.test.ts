import { randomUUID } from 'node:crypto'
import * as fc from 'fast-check'
import { digestOf } from '../../src/core/model/accountKey.ts'
import type { Digest, EntityId, Revision, TeamId } from '../../src/core/model/ids.ts'
import type { Instant } from '../../src/core/model/instant.ts'
import {
  type AccountKeyStore,
  type AppendPosition,
  accountKeyStore,
  appendPositionOf,
  type StoredKey,
} from '../../src/core/stores/accountKeyStore.ts'
import { connectRedis, type RedisConnection } from '../../src/core/stores/redis.ts'
import { redisKeys } from '../../src/core/stores/redisKeys.ts'
import { clearRedis } from '../support/clearRedis.ts'
import { eventually } from '../support/eventually.ts'

const partitions = 3
const teams = ['acme', 'b.team'] as TeamId[]
const ids = ['k1', 'k2', 'k3'] as EntityId[]
const digests = ['one', 'two'].map(digestOf)

let link: RedisConnection
beforeAll(async () => {
  link = connectRedis(process.env['REDIS_URL'] ?? '', () => undefined)
  await eventually(() => link.runId() !== undefined)
})
afterAll(() => link.close())

/** A record of `account-keys`; one key's records share a partition. */
type Appended = {
  readonly teamId: TeamId
  readonly keyId: EntityId
  readonly key: StoredKey | null
  readonly place: AppendPosition
  readonly partition: number
}

const keyOf = (id: EntityId, digest: Digest, state: StoredKey['state'], revision: number): StoredKey => ({
  id,
  name: 'n',
  digest,
  state,
  createdAt: '2026-01-01T00:00:00.000Z' as Instant,
  createdBy: 'owner',
  revision: revision as Revision,
})

/** What producers may append: any key and state, late and doubled, back to an earlier digest, two within a millisecond. */
const histories = fc
  .array(
    fc.record({
      teamId: fc.constantFrom(...teams),
      keyId: fc.constantFrom(...ids),
      state: fc.constantFrom('active' as const, 'revoked' as const),
      revision: fc.integer({ min: 1, max: 4 }),
      isDeletion: fc.integer({ min: 0, max: 7 }).map((n) => n === 0),
      afterMs: fc.integer({ min: 0, max: 1 }),
    }),
    { minLength: 1, maxLength: 24 },
  )
  .map((changes) => {
    let appendedAtMs = Date.parse('2026-05-01T00:00:00Z')
    return changes.map(({ teamId, keyId, state, revision, isDeletion, afterMs }, at): Appended => {
      appendedAtMs += afterMs
      const partition = (teams.indexOf(teamId) * ids.length + ids.indexOf(keyId)) % partitions
      const place = appendPositionOf({ appendedAtMs, partition, offset: BigInt(at) })
      // One revision has one content, but for its state, which two writers may have changed at once.
      const digest = digests[(revision + ids.indexOf(keyId)) % digests.length] as Digest
      const key = isDeletion ? null : keyOf(keyId, digest, state, revision)
      return { teamId, keyId, key, place, partition }
    })
  })

/** The rule in plain words: the newest record of each key that is not deleted; of those with one digest, the first appended. */
function holdersOf(records: readonly Appended[]): Map<Digest, string> {
  const names = [...new Set(records.map(nameOf))]
  const live = names.flatMap((name) => {
    const own = records.filter((record) => nameOf(record) === name)
    const states = own.map(({ key }) => key).filter((key) => key !== null)
    if (states.length < own.length) return []
    const rank = ({ revision, state }: StoredKey): number => 2 * revision + (state === 'revoked' ? 1 : 0)
    const newest = states.toSorted((a, b) => rank(b) - rank(a))[0]
    if (newest === undefined) return []
    const places = own.filter(({ key }) => key?.digest === newest.digest).map(({ place }) => place)
    return [{ name: `${name} ${newest.state}`, digest: newest.digest, place: places.toSorted()[0] ?? '' }]
  })
  const byPlace = live.toSorted((a, b) => (a.place < b.place ? 1 : -1))
  return new Map(byPlace.map(({ digest, name }) => [digest, name]))
}
const nameOf = ({ teamId, keyId }: Pick<Appended, 'teamId' | 'keyId'>): string => `${teamId}/${keyId}`

async function withStore<T>(use: (store: AccountKeyStore, lose: () => Promise<void>) => Promise<T>): Promise<T> {
  const prefix = `test-${randomUUID().slice(0, 8)}`
  const store = accountKeyStore(link, redisKeys(prefix))
  const lose = (): Promise<void> => clearRedis(link.client, prefix)
  try {
    return await use(store, lose)
  } finally {
    await lose()
  }
}

const apply = (store: AccountKeyStore, { teamId, keyId, key, place }: Appended): Promise<unknown> =>
  store.apply(teamId, keyId, key, place)

async function heldIn(store: AccountKeyStore): Promise<Map<Digest, string>> {
  await (await store.beginReplay(randomUUID())).complete()
  const held = new Map<Digest, string>()
  for (const digest of digests) {
    const lookup = await store.lookup(digest)
    if (lookup === 'incomplete') throw new Error('the store is incomplete')
    if (lookup.found !== null) held.set(digest, `${nameOf(lookup.found)} ${lookup.found.state}`)
  }
  return held
}

test('whatever was appended, and in whichever order and how often it is applied, the same keys hold the digests', async () => {
  await fc.assert(
    fc.asyncProperty(histories, fc.infiniteStream(fc.nat()), async (records, random) => {
      const expected = holdersOf(records)
      const pick = (below: number): number => (random.next().value ?? 0) % below
      await withStore(async (store, lose) => {
        const shuffled = records.map((record) => ({ record, at: pick(1_000) })).toSorted((a, b) => a.at - b.at)
        for (const { record } of shuffled) {
          // As the settings area does, which knows no place.
          if (pick(4) === 0) await store.apply(record.teamId, record.keyId, record.key)
          await apply(store, record)
          if (pick(4) === 0) await apply(store, records[pick(records.length)] ?? record)
        }
        expect(await heldIn(store)).toEqual(expected)
        for (const team of teams) await expectListed(store, team, expected)
        await lose()
        // Partition by partition, as a replay may read them, while others are applied at once.
        const byPartition = [2, 0, 1].map((partition) => records.filter((each) => each.partition === partition))
        await Promise.all(byPartition.map((each) => Promise.all(each.map((record) => apply(store, record)))))
        expect(await heldIn(store)).toEqual(expected)
      })
    }),
    { numRuns: 150, endOnFailure: true },
  )
})

/** A team's list has those of its keys that hold their digests, and each takes one of the ten slots. */
async function expectListed(
  store: AccountKeyStore,
  team: TeamId,
  expected: ReadonlyMap<Digest, string>,
): Promise<void> {
  const listed = (await store.list(team)).map(({ id, state }) => `${team}/${id} ${state}`).sort()
  expect(listed).toEqual([...expected.values()].filter((name) => name.startsWith(`${team}/`)).sort())
  let free = 0
  while (free <= 10 && (await store.reserve(team, `new-${free}` as EntityId, 0, 1)) === 'reserved') free++
  expect(free + listed.length).toBe(10)
}

test('as the indexer applies records, what takes a digest from another key says so before, and what lost is refused', async () => {
  await fc.assert(
    fc.asyncProperty(histories, fc.infiniteStream(fc.nat()), async (records, random) => {
      const pick = (below: number): number => (random.next().value ?? 0) % below
      await withStore(async (store) => {
        await (await store.beginReplay('first')).complete()
        const shuffled = records.map((record) => ({ record, at: pick(1_000) })).toSorted((a, b) => a.at - b.at)
        for (const { record } of shuffled) {
          const { teamId, keyId, key, place } = record
          const before = await heldIn(store)
          const first = await store.applyRecord(teamId, keyId, key, place)
          if (first.kind !== 'displaces') continue
          expect(await heldIn(store)).toEqual(before)
          expect((await store.applyRecord(teamId, keyId, key, place, first.holder)).kind).not.toBe('displaces')
        }
        expect(await heldIn(store)).toEqual(holdersOf(records))
      })
    }),
    { numRuns: 100, endOnFailure: true },
  )
})

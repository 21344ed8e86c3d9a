import { randomUUID } from 'node:crypto'
import * as fc from 'fast-check'
import { type AppendPosition, appendPositionOf } from '../../src/core/kafka/sourceRecord.ts'
import { type AccountKeyState, digestOf } from '../../src/core/model/accountKey.ts'
import type { Digest, EntityId, Revision, TeamId } from '../../src/core/model/ids.ts'
import { AccountKeyStore } from '../../src/core/redis/accountKeyStore.ts'
import { type LookUpKey, shareLookups } from '../../src/core/redis/keyLookups.ts'
import { redisKeys } from '../../src/core/redis/redisKeys.ts'
import { clearRedis } from '../support/clearRedis.ts'
import { keyState } from '../support/entities.ts'
import { useStarted } from '../support/lifecycle.ts'
import { connectReal } from '../support/redisPair.ts'

const partitions = 3
const teams = ['acme', 'b.team'] as TeamId[]
const ids = ['k1', 'k2', 'k3'] as EntityId[]
const digests = ['one', 'two', 'three'].map(digestOf)

const link = useStarted('the connection', () => connectReal())

/** A record of `account-keys`. One key's records share a partition, unless producers hash differently, or partitions were added. */
type Appended = {
  readonly teamId: TeamId
  readonly keyId: EntityId
  readonly state: AccountKeyState
  readonly position: AppendPosition
  readonly partition: number
}

/** What producers may append: any key and state, late and doubled, back to an earlier digest. */
const histories = fc
  .array(
    fc.record({
      teamId: fc.constantFrom(...teams),
      keyId: fc.constantFrom(...ids),
      state: fc.constantFrom('active' as const, 'revoked' as const),
      revision: fc.constantFrom(1, 2, 10, 2 ** 53 - 3, 2 ** 53 - 2),
      isDeletion: fc.integer({ min: 0, max: 7 }).map((n) => n === 0),
      isElsewhere: fc.integer({ min: 0, max: 15 }).map((n) => n === 0),
    }),
    { minLength: 1, maxLength: 24 },
  )
  .map((changes) =>
    changes.map(({ teamId, keyId, state, revision, isDeletion, isElsewhere }, at): Appended => {
      const hash = teams.indexOf(teamId) * ids.length + ids.indexOf(keyId)
      const partition = (isElsewhere ? hash + 1 : hash) % partitions
      const position = appendPositionOf({ partition, offset: BigInt(at) })
      // One revision has one content, but for its state, which two writers may have changed at once.
      const digest = digests[(revision + ids.indexOf(keyId)) % digests.length] as Digest
      const deleted = { revision: revision as Revision, key: null }
      return {
        ...{ teamId, keyId, position, partition },
        state: isDeletion ? deleted : keyState({ id: keyId, digest, state, revision }),
      }
    }),
  )

type Live = { name: string; digest: Digest; state: string; isSplit: boolean }

/** The rule in plain words: the newest record of each key that is not deleted. */
function liveIn(records: readonly Appended[]): Live[] {
  return [...new Set(records.map(nameOf))].flatMap((name) => {
    const own = records.filter((record) => nameOf(record) === name)
    const states = own.map(({ state }) => state)
    const isSplit = new Set(own.map(({ partition }) => partition)).size > 1
    if (states.some(({ key }) => key === null)) return []
    const isRevoked = ({ key }: AccountKeyState): number => (key?.state === 'revoked' ? 1 : 0)
    const [newest] = states.toSorted((a, b) => b.revision - a.revision || isRevoked(b) - isRevoked(a))
    return newest?.key ? [{ name, digest: newest.key.digest, state: newest.key.state, isSplit }] : []
  })
}
const nameOf = ({ teamId, keyId }: Pick<Appended, 'teamId' | 'keyId'>): string => `${teamId}/${keyId}`

type Store = AccountKeyStore & { readonly lookUp: LookUpKey }

/** A digest opens the one live key that claims it, unless that has live records in two partitions. */
function openedBy(records: readonly Appended[]): Map<Digest, string> {
  const live = liveIn(records)
  const alone = live.filter((one) => !one.isSplit && live.filter(({ digest }) => digest === one.digest).length === 1)
  return new Map(alone.map(({ digest, name, state }) => [digest, `${name} ${state}`]))
}

async function withStore<T>(use: (store: Store, lose: () => Promise<void>) => Promise<T>): Promise<T> {
  const prefix = `test-${randomUUID().slice(0, 8)}`
  const redis = { ...link, keys: redisKeys(prefix) }
  const store = Object.assign(new AccountKeyStore(redis), { lookUp: shareLookups(redis) })
  const lose = (): Promise<void> => clearRedis(link.client, prefix)
  try {
    return await use(store, lose)
  } finally {
    await lose()
  }
}

const apply = (store: Store, { teamId, keyId, state, position }: Appended): Promise<unknown> =>
  store.apply(teamId, keyId, state, position)

async function foundIn(store: Store): Promise<Map<Digest, string>> {
  await (await store.beginReplay(randomUUID())).complete()
  const found = digests.map(async (digest): Promise<[Digest, string][]> => {
    const lookup = await store.lookUp(digest)
    if (lookup.kind === 'incomplete') throw new Error('the store is incomplete')
    return lookup.kind === 'unknown' ? [] : [[digest, `${nameOf(lookup.accountKey)} ${lookup.accountKey.state}`]]
  })
  return new Map((await Promise.all(found)).flat())
}

test('the same keys work, and the same are contested, in whichever order and however often their records are applied', async () => {
  await fc.assert(
    fc.asyncProperty(histories, fc.infiniteStream(fc.nat()), async (records, random) => {
      const expected = openedBy(records)
      const pick = (below: number): number => (random.next().value ?? 0) % below
      await withStore(async (store, lose) => {
        const shuffled = records.map((record) => ({ record, at: pick(1_000) })).toSorted((a, b) => a.at - b.at)
        for (const { record } of shuffled) {
          // As the settings area does, before its record is appended: of keys that it has created, in one partition.
          const isOwn = !liveIn(records).some(({ name, isSplit }) => isSplit && name === nameOf(record))
          if (isOwn && pick(4) === 0) await store.apply(record.teamId, record.keyId, record.state)
          await apply(store, record)
          if (pick(4) === 0) await apply(store, records[pick(records.length)] ?? record)
        }
        await expectHeld(store, records, expected)
        await lose()
        // Partition by partition, as a replay may read them, while others are applied at once.
        const byPartition = [2, 0, 1].map((partition) => records.filter((each) => each.partition === partition))
        await Promise.all(byPartition.map((each) => Promise.all(each.map((record) => apply(store, record)))))
        await expectHeld(store, records, expected)
      })
    }),
    { numRuns: 150, endOnFailure: true },
  )
})

/** A team's list has its live keys, and each takes one of the ten slots; contested digests are those with several live keys. */
type Opened = ReadonlyMap<Digest, string>
async function expectHeld(store: Store, records: readonly Appended[], expected: Opened): Promise<void> {
  expect(await foundIn(store)).toEqual(expected)
  const live = liveIn(records)
  for (const team of teams) {
    const own = live.filter(({ name }) => name.startsWith(`${team}/`)).map(({ name, state }) => `${name} ${state}`)
    expect((await store.list(team)).map(({ id, state }) => `${team}/${id} ${state}`).sort()).toEqual(own.sort())
    const asked = Array.from({ length: 11 }, (_, at) => store.reserve(team, `new-${at}` as EntityId, 0, 1))
    const free = (await Promise.all(asked)).filter((each) => each === 'reserved')
    expect(free.length + own.length).toBe(10)
  }
  const claimedBy = ({ name, isSplit }: Live) => [name, ...(isSplit ? [`${name} in another partition`] : [])]
  const claims = digests.map((digest) => live.filter((each) => each.digest === digest).flatMap(claimedBy))
  const contested = (await store.contestedDigests(99)).map(({ keys }) => keys)
  const several = claims.filter((names) => names.length > 1).map((names) => names.sort())
  expect(contested.sort()).toEqual(several.sort())
}

test('compaction and a loss of Redis change no key, once the records that had to be appended again were appended', async () => {
  await fc.assert(
    fc.asyncProperty(histories, async (records) => {
      await withStore(async (store, lose) => {
        const topic = [...records]
        await (await store.beginReplay('first')).complete()
        for (let at = 0; at < topic.length; at++) {
          const record = topic[at] as Appended
          const { teamId, keyId, state, position, partition } = record
          const applied = await store.apply(teamId, keyId, state, position, 'when complete')
          const newest = applied.kind === 'stale' || applied.kind === 'conflict' ? applied.newest : undefined
          const next = appendPositionOf({ partition, offset: BigInt(topic.length) })
          if (newest !== undefined) topic.push({ teamId, keyId, partition, state: newest, position: next })
        }
        expect(topic.length).toBeLessThanOrEqual(2 * records.length)
        const before = await foundIn(store)
        await lose()
        // Compaction keeps the last record of a key in each partition.
        const kept = new Map(topic.map((each) => [`${nameOf(each)} ${each.partition}`, each]))
        for (const record of kept.values()) await apply(store, record)
        expect(await foundIn(store)).toEqual(before)
      })
    }),
    { numRuns: 100, endOnFailure: true },
  )
})

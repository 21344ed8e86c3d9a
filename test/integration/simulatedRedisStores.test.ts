import { randomUUID } from 'node:crypto'
import * as fc from 'fast-check'
import type { GenerationTag } from '../../src/core/elasticsearch/indices.ts'
import { appendPositionOf } from '../../src/core/kafka/sourceRecord.ts'
import { type AccountKeyState, digestOf } from '../../src/core/model/accountKey.ts'
import {
  documentId,
  type EntityId,
  type EntityType,
  entityTypes,
  type TeamId,
  teamList,
} from '../../src/core/model/ids.ts'
import { AccountKeyStore, AccountKeysIncomplete } from '../../src/core/redis/accountKeyStore.ts'
import { countRequests } from '../../src/core/redis/countRequests.ts'
import { type LookUpKey, shareLookups } from '../../src/core/redis/keyLookups.ts'
import { countKeyUse } from '../../src/core/redis/keyUse.ts'
import { readVersionsOf } from '../../src/core/redis/listVersions.ts'
import { readLogStates, storeLogStates } from '../../src/core/redis/logStates.ts'
import { readKeyUse } from '../../src/core/redis/readKeyUse.ts'
import { readVisibleList, readVisibleTimes } from '../../src/core/redis/readVisiblePositions.ts'
import type { RedisConnection } from '../../src/core/redis/redis.ts'
import { redisKeys } from '../../src/core/redis/redisKeys.ts'
import * as serving from '../../src/core/redis/serving.ts'
import { switchServing } from '../../src/core/redis/switchServing.ts'
import {
  forgetVisiblePositions,
  knowsDeletions,
  publishVisiblePositions,
} from '../../src/core/redis/visiblePositions.ts'
import { usedTokens } from '../../src/settings/signIn.ts'
import { clearRedis, namesOf } from '../support/clearRedis.ts'
import { readFreshness } from '../support/freshness.ts'
import { useStarted, withMembers } from '../support/lifecycle.ts'
import { connectReal, connectSimulated } from '../support/redisPair.ts'
import { visibleRound } from '../support/visibleRound.ts'

const nowMs = Date.now()
const minuteMs = 60_000

/** What a process does with one Redis. */
type Side = {
  readonly link: RedisConnection
  readonly store: AccountKeyStore
  readonly lookUp: LookUpKey
  /** The same tokens on both sides. */
  newToken(): string
  replay: { complete(): Promise<boolean> }
  reservedAtMs: number
}
type Step = { readonly what: string; readonly values: unknown; run(side: Side): Promise<unknown> }

/** A step that is drawn `weight` times as often as others. */
const step = <T>(
  what: string,
  values: fc.Arbitrary<T>,
  run: (side: Side, values: T) => Promise<unknown>,
  weight = 2,
): fc.WeightedArbitrary<Step> => ({
  arbitrary: values.map((drawn): Step => ({ what, values: drawn, run: (side) => run(side, drawn) })),
  weight,
})

const oneOf = <const T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values)
const teams = oneOf('acme', 'b.team').map((text) => text as TeamId)
const ids = oneOf('k1', 'k2', 'k3').map((text) => text as EntityId)
const newIds = fc.nat(12).map((n) => `new-${n}` as EntityId)
const reserved = fc.oneof(ids, newIds)
const lists = fc.tuple(oneOf(...entityTypes), teams).map(([type, team]) => teamList(type, team))
const digests = oneOf('one', 'two').map(digestOf)
const places = fc.record({ partition: fc.nat(2), offset: fc.nat(99).map(BigInt) }).map(appendPositionOf)
const storedKeys = fc
  .record({
    id: ids,
    name: oneOf('plain', 'ä/"\\\n\u0001', '鍵'),
    digest: digests,
    state: oneOf('active' as const, 'revoked' as const),
    expiresAt: oneOf(undefined, null, '2999-01-01T00:00:00.000Z'),
  })
  .map((key) => ({ ...key, createdAt: '2026-01-01T00:00:00.000Z', createdBy: 'owner' }))
const records = fc
  .record({
    teamId: teams,
    key: storedKeys,
    revision: oneOf(1, 2, 3, 2 ** 53 - 2),
    isDeletion: fc.nat(19).map((n) => n === 0),
    place: fc.option(places, { nil: undefined }),
  })
  .map(({ key, revision, isDeletion, ...record }) => {
    const state = { revision, key: isDeletion ? null : key } as AccountKeyState
    return { ...record, keyId: key.id as EntityId, state }
  })
const partitions = ['forms/0', 'submissions/0', 'submissions/1']
const firstGeneration = '1-0123456789abcdef' as GenerationTag
const generations = oneOf(firstGeneration, firstGeneration, firstGeneration, '2-0123456789abcdef' as GenerationTag)
const rebuilds = oneOf('rebuild 1', 'rebuild 2')
const instants = fc.integer({ min: 0, max: 40 }).map((n) => nowMs + n - 20)
const reached = fc.array(
  fc.record({
    type: oneOf(...entityTypes),
    partition: fc.nat(1),
    to: fc.bigInt({ min: 0n, max: 2n ** 40n - 1n }),
    timeMs: instants,
  }),
  { maxLength: 3 },
)
const switches = fc.record({
  ...{ holder: rebuilds, from: generations, to: generations, reached },
  replaced: fc.constantFrom<EntityType[]>([], [], ['forms']),
  mayLackDeletions: fc.nat(9).map((n) => n === 0),
})
const visibleRounds = fc.record({
  generation: generations,
  lists: fc.array(lists, { maxLength: 4 }),
  changesEveryList: oneOf(false, false, true),
  partitionCounts: fc.record({ forms: fc.nat(2), submissions: fc.nat(2) }),
  partitions: fc
    .tuple(reached, fc.bigInt({ min: 0n, max: 2n ** 40n - 1n }))
    .map(([some, from]) => some.map((each) => ({ ...each, from }))),
  mayLackDeletions: fc.nat(9).map((n) => n === 0),
})

const none = fc.constant(null)
const beginReplay = async (side: Side, token: string): Promise<void> => {
  side.replay = await side.store.beginReplay(token)
}

const servingSteps = [
  step('setServing', generations, ({ link }, generation) => serving.setServing(link, generation)),
  step('acquireSwitchLock', rebuilds, ({ link }, holder) => serving.acquireSwitchLock(link, holder, minuteMs), 1),
  step('extendSwitchLock', rebuilds, ({ link }, holder) => serving.extendSwitchLock(link, holder, minuteMs), 1),
  step('releaseSwitchLock', rebuilds, ({ link }, holder) => serving.releaseSwitchLock(link, holder)),
  step('read what serves', none, async ({ link }) => [
    await serving.readServing(link),
    await serving.isSwitchLocked(link),
    await readVisibleTimes(link).then(({ watermarkMs, timeMs }) => [watermarkMs, timeMs('forms', 0)]),
  ]),
]

const listSteps = [
  step('readFreshness', teams, ({ link, newToken }, team) => readFreshness(link, team, newToken)),
  step('readVersionsOf', fc.array(lists, { minLength: 1, maxLength: 4 }), ({ link }, some) =>
    readVersionsOf(link, some),
  ),
  step('publishVisiblePositions', visibleRounds, ({ link, newToken }, round) =>
    publishVisiblePositions(link, visibleRound(round), newToken),
  ),
  step('switchServing', switches, ({ link, newToken }, { to, replaced, ...asked }) => {
    const { cursorKeys, indices } = visibleRound({})
    const named = { tag: to, indices }
    return switchServing(link, { ...asked, to: named, cursorKeys, replaced: new Set(replaced) }, newToken)
  }),
  step('knowsDeletions', generations, ({ link }, generation) => knowsDeletions(link, generation)),
  step('forgetVisiblePositions', generations, ({ link }, generation) => forgetVisiblePositions(link, generation), 1),
  step(
    'storeLogStates',
    fc.tuple(generations, fc.dictionary(oneOf(...partitions), oneOf('replaced', '7:1000'))),
    ({ link }, [generation, logs]) => storeLogStates(link, generation, new Map(Object.entries(logs))),
  ),
  step('readLogStates', generations, async ({ link }, generation) =>
    byText([...(await readLogStates(link, generation))]),
  ),
  step('readVisibleList', fc.tuple(oneOf(...entityTypes), teams), ({ link, newToken }, [type, team]) =>
    readVisibleList(link, type, team, newToken),
  ),
]

const keySteps = [
  step('apply', records, ({ store }, { teamId, keyId, state, place }) => store.apply(teamId, keyId, state, place), 8),
  step(
    'apply when complete',
    fc.tuple(records, places),
    ({ store }, [{ teamId, keyId, state }, place]) => store.apply(teamId, keyId, state, place, 'when complete'),
    8,
  ),
  step('readPositions', none, async ({ store }) => byText([...(await store.readPositions())])),
  step('forget', fc.tuple(teams, ids, oneOf(true, true, false)), async ({ store }, [team, keyId, isKnown]) => {
    const position = (await store.readPositions()).get(documentId(team, keyId))
    const expected = isKnown ? position : appendPositionOf({ partition: 9, offset: 9n })
    return expected !== undefined && (await store.forget(documentId(team, keyId), expected))
  }),
  step('contested', none, ({ store }) => store.contestedDigests(9)),
  step('reserve', fc.tuple(teams, reserved, fc.nat(9)), (side, [team, id, lifeMs]) =>
    side.store.reserve(team, id, ++side.reservedAtMs, side.reservedAtMs + lifeMs),
  ),
  step('list', teams, async ({ store }, team) => byText(await store.list(team))),
  step(
    'lookup',
    fc.tuple(digests, oneOf(undefined, nowMs)),
    async ({ lookUp, link, newToken }, [digest, countedAtMs]) => {
      // A look-up would create tokens of its own.
      for (const team of ['acme', 'b.team'] as TeamId[]) await readFreshness(link, team, newToken)
      const lookup = await lookUp(digest, countedAtMs)
      if (lookup.kind !== 'found') return lookup
      const { requests, leftMs } = lookup.window
      return { ...lookup, window: [requests, requests === 0 ? leftMs : 0 < leftMs && leftMs <= minuteMs] }
    },
  ),
  step('find', fc.tuple(teams, ids), ({ store }, [team, id]) => store.find(team, id)),
  step('beginReplay', oneOf('first', 'second'), beginReplay, 1),
  step('lose that the store is complete', none, ({ link }) => link.client.del(link.keys.accountKeysComplete), 1),
  step('end the replay', none, async ({ replay }) => await replay.complete(), 3),
  step('count the use of a key', fc.tuple(teams, ids), async ({ link }, [teamId, keyId]) => {
    const use = countKeyUse(
      link,
      () => nowMs,
      () => 0,
    )
    use.count({ teamId, keyId }, 429)
    use.noteFeed({ teamId, keyId }, 'forms', undefined)
    await use.share()
  }),
  step('read the use of a key', fc.tuple(teams, ids), async ({ link }, [team, id]) => [
    ...(await readKeyUse(link, team, [id], nowMs)),
  ]),
  step('lastUse', teams, async ({ store }, team) => byText([...(await store.lastUse(team))])),
]

const otherSteps = [step('use a token', oneOf('t1', 't2'), ({ link }, token) => usedTokens(link)(token))]

const byText = <T>(values: readonly T[]): string[] => values.map((value) => JSON.stringify(value)).sort()

const real = useStarted('Redis', () => connectReal())
const simulated = useStarted('the simulated Redis', () => connectSimulated())

async function sideOf(connection: RedisConnection, prefix: string): Promise<Side> {
  const link = withMembers(connection, { keys: redisKeys(prefix) })
  const store = new AccountKeyStore(link)
  let tokens = 0
  await serving.setServing(link, firstGeneration)
  await (await store.beginReplay('none')).complete()
  const replay = await store.beginReplay('first')
  const lookUp = shareLookups(link, countRequests(link, 2))
  return { link, store, lookUp, newToken: () => `token ${++tokens}`, replay, reservedAtMs: 0 }
}

/** The outcome of a step, where the run of the server has the same name on both sides. */
async function outcomeOf({ run }: Step, side: Side): Promise<unknown> {
  const outcome = await run(side).catch((error: unknown) => {
    if (error instanceof AccountKeysIncomplete) return error.message
    throw error
  })
  return withoutRun(side, outcome)
}

function withoutRun({ link }: Side, value: unknown): unknown {
  const text = JSON.stringify(value, (_key, each: unknown) => (each instanceof Map ? [...each].sort() : each))
  return text?.replaceAll(link.runId() ?? 'no run', 'this run')
}

/** All keys, what they hold, and whether they expire. */
async function dumpOf(side: Side, prefix: string): Promise<unknown[]> {
  const { client } = side.link
  const dump: unknown[] = []
  // A hash has no order: it depends on it whether a slot was found to be over before the key that was looked for.
  const isLasting = ([, text]: [string, string]): boolean =>
    !(Number(/"reservedUntilMs":(\d+)/.exec(text)?.[1]) < side.reservedAtMs)
  for (const name of await namesOf(side.link.client, prefix)) {
    const fields = async () => Object.entries(await client.hgetall(name))
    const readers = [
      () => client.get(name),
      async () => (await fields()).filter(isLasting).sort(),
      async () => (await client.smembers(name)).sort(),
    ]
    let held: unknown
    for (const read of readers) held ??= await read().catch(() => undefined)
    dump.push(withoutRun(side, [name, held, (await client.pttl(name)) > 0]))
  }
  return dump
}

test.each([
  { of: 'what serves', steps: servingSteps },
  { of: 'list versions', steps: [...listSteps, ...servingSteps] },
  { of: 'account keys', steps: keySteps },
  { of: 'everything', steps: [...servingSteps, ...listSteps, ...keySteps, ...otherSteps] },
])(
  'calls of $of have the same results, and leave the same keys, in the real Redis and in the simulated one',
  async ({ steps }) => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(...steps), { minLength: 1, maxLength: 60, size: 'max' }), async (drawn) => {
        const prefix = `test-${randomUUID().slice(0, 8)}`
        const sides = await Promise.all([real, simulated].map((link) => sideOf(link, prefix)))
        const [ofReal, ofSimulated] = sides as [Side, Side]
        try {
          for (const each of drawn) expect(await outcomeOf(each, ofSimulated)).toEqual(await outcomeOf(each, ofReal))
          expect(await dumpOf(ofSimulated, prefix)).toEqual(await dumpOf(ofReal, prefix))
        } finally {
          await Promise.all(sides.map(({ link }) => clearRedis(link.client, prefix)))
        }
      }),
      { numRuns: 100, endOnFailure: true },
    )
  },
)

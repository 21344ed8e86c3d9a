import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { SourceRecord } from '../../src/core/kafka/sourceRecord.ts'
import { type AccountKeyState, accountKeyValue } from '../../src/core/model/accountKey.ts'
import { type Digest, type DocumentId, documentId, entityIdOf, teamIdOf } from '../../src/core/model/ids.ts'
import { readAccountKeyRecord } from '../../src/core/model/record.ts'
import { AccountKeyStore, AccountKeysIncomplete, foundKeyOf, readField } from '../../src/core/redis/accountKeyStore.ts'
import type { FoundKey } from '../../src/core/redis/keyLookups.ts'
import type { RedisConnection } from '../../src/core/redis/redis.ts'
import { scanHashes } from '../../src/core/redis/scanHashes.ts'
import type { Difference, DifferenceKind, DifferenceReport } from './differenceReport.ts'
import type { VerifyContext } from './verifyContext.ts'

/** A change reaches Kafka and Redis within seconds: a difference that all of these comparisons find is real. */
const maxComparisons = 5
const pauseMs = 1_000

/**
 * Compares the account keys in Redis with their topic, and reports what all comparisons find. Resolves with the number of live keys. Rejects if Redis has not
 * all keys, or was restarted meanwhile.
 */
export async function verifyAccountKeys(context: VerifyContext, differences: DifferenceReport): Promise<number> {
  context.report.step('account keys in Redis are compared with their topic')
  const runId = await expectComplete(context)
  const first = await compareOnce(context)
  let lasting = first.differences
  for (let count = 1; lasting.size > 0 && count < maxComparisons; count++) {
    await sleep(pauseMs, undefined, { signal: context.signal })
    const again = await compareOnce(context)
    lasting = new Map([...again.differences].filter(([name]) => lasting.has(name)))
  }
  if ((await expectComplete(context)) !== runId)
    throw new Error('Redis was restarted or failed over during the comparison: run it again')
  for (const difference of lasting.values()) differences.add(difference)
  return first.keys
}

/** Resolves with the run id of Redis, which a restart changes; undefined if it is not known. */
async function expectComplete({ redis }: VerifyContext): Promise<string | undefined> {
  if (!(await new AccountKeyStore(redis).isComplete())) throw new AccountKeysIncomplete()
  return redis.runId()
}

/** `keys`: live in the topic. `differences`: by kind and key. */
async function compareOnce({ config, source, redis, team, pauseAfterWork, signal }: VerifyContext): Promise<{
  readonly keys: number
  readonly differences: Map<string, Difference>
}> {
  const expected = new ExpectedAccountKeys()
  await source.readTopic({
    topic: config.TOPIC_ACCOUNT_KEYS,
    signal,
    onRecord: async (record) => {
      expected.apply(record)
      await pauseAfterWork()
    },
  })
  const survey = await surveyAccountKeys(redis)
  const live = [...expected.states].filter(([id, [{ key }]]) => key !== null && isOf(team, id))
  return { keys: live.length, differences: compareAccountKeys(expected, survey, team) }
}

const isOf = (team: VerifyContext['team'], id: DocumentId): boolean => team === undefined || teamIdOf(id) === team

export type AccountKeySurvey = {
  /** `team/key` → the state of the key. */
  readonly states: ReadonlyMap<DocumentId, AccountKeyState>
  /**
   * Digest of a secret → the live keys with this digest. A key whose live records are in two partitions is named twice. A look-up finds a key only if its digest
   * has exactly one entry.
   */
  readonly claims: ReadonlyMap<Digest, readonly FoundKey[]>
}

/** Concurrent writes may be included or not. */
export async function surveyAccountKeys(redis: RedisConnection): Promise<AccountKeySurvey> {
  const { keys: names } = redis
  const states = new Map<DocumentId, AccountKeyState>()
  // In this order: a deletion moves a key from `teamKeys` to `deletedKeys`, so no key is missed.
  for (const prefix of [names.teamKeys(''), names.deletedKeys('')])
    for await (const [teamId, hash] of scanHashes(redis, prefix))
      for (const [keyId, field] of Object.entries(hash)) {
        const state = readField(field)
        if (state !== undefined) states.set(`${teamId}/${keyId}` as DocumentId, state)
      }
  const claims = new Map<Digest, readonly FoundKey[]>()
  for await (const [digest, hash] of scanHashes(redis, names.accountKey(''))) {
    const keys = Object.values(hash).map((text) => JSON.parse(text) as FoundKey)
    claims.set(digest as Digest, keys)
  }
  return { states, claims }
}

/** Several if two writers made the same revision at once. */
type NewestStates = readonly [AccountKeyState, ...AccountKeyState[]]

/**
 * Computes the expected content of the account-key store from the records, in any order, by the rules of `accountKeyScripts.ts`. Of several records of a key, a
 * deletion wins, then the highest revision, then a revocation.
 */
export class ExpectedAccountKeys {
  readonly states = new Map<DocumentId, NewestStates>()
  /** Of the last live record. */
  readonly #partitions = new Map<DocumentId, number>()
  readonly #inTwoPartitions = new Set<DocumentId>()

  /** Ignores a record that breaks the contract. */
  apply(record: SourceRecord): void {
    const result = readAccountKeyRecord(record.key, record.value)
    if (!result.ok) return
    const { teamId, entityId, ...state } = result.value
    const id = documentId(teamId, entityId)
    if (state.key !== null) {
      const earlierPartition = this.#partitions.get(id) ?? record.partition
      if (earlierPartition !== record.partition) this.#inTwoPartitions.add(id)
      this.#partitions.set(id, record.partition)
    }
    const newest = this.states.get(id)
    const order = newest === undefined ? 1 : orderOf(state, newest[0])
    if (newest === undefined || order > 0) this.states.set(id, [state])
    else if (order === 0 && !isAmong(state, newest)) this.states.set(id, [...newest, state])
  }

  /** Digest → the expected claims, each with all states that Redis may have for the key. */
  claims(): ReadonlyMap<Digest, readonly (readonly FoundKey[])[]> {
    const claims = new Map<Digest, FoundKey[][]>()
    for (const [id, newest] of this.states) {
      const live = newest.flatMap(({ key }) => key ?? [])
      for (const [digest, keys] of Map.groupBy(live, (key) => key.digest)) {
        const foundKeys = keys.map((key) => foundKeyOf(teamIdOf(id), entityIdOf(id), key))
        const claimsOfKey = this.#inTwoPartitions.has(id) ? [foundKeys, foundKeys] : [foundKeys]
        claims.set(digest, [...(claims.get(digest) ?? []), ...claimsOfKey])
      }
    }
    return claims
  }
}

/** Positive if `a` is newer. */
function orderOf(a: AccountKeyState, b: AccountKeyState): number {
  if (a.key === null || b.key === null) return Number(a.key === null) - Number(b.key === null)
  return a.revision - b.revision || Number(a.key.state === 'revoked') - Number(b.key.state === 'revoked')
}

const isAmong = (state: AccountKeyState, states: readonly AccountKeyState[]): boolean =>
  states.some((other) => accountKeyValue(other) === accountKeyValue(state))

const idOf = ({ teamId, keyId }: FoundKey): DocumentId => documentId(teamId, keyId)

type AddDifference = (kind: DifferenceKind, id: DocumentId, detail: string) => void

/** By kind and key, so that two comparisons can be matched. Of one kind and key, only the first difference counts. */
export function compareAccountKeys(
  expected: ExpectedAccountKeys,
  stored: AccountKeySurvey,
  team: VerifyContext['team'],
): Map<string, Difference> {
  const differences = new Map<string, Difference>()
  const add: AddDifference = (kind, id, detail) => {
    const name = `${kind} ${id}`
    if (isOf(team, id) && !differences.has(name)) differences.set(name, { kind, id, where: 'account-keys', detail })
  }
  compareClaims(expected, stored, add)
  compareStates(expected, stored, add)
  return differences
}

function compareClaims(expected: ExpectedAccountKeys, stored: AccountKeySurvey, add: AddDifference): void {
  const expectedClaims = expected.claims()
  for (const [digest, storedClaims] of stored.claims)
    compareClaim(onlyClaim(storedClaims), onlyClaim(expectedClaims.get(digest)) ?? [], add)
  for (const [digest, claims] of expectedClaims) {
    const keys = claims.flatMap(([key]) => key ?? [])
    for (const key of keys)
      if (keys.length > 1) add('key-contested', idOf(key), `not accepted: ${reasonFor(keys)}`)
      else if (onlyClaim(stored.claims.get(digest)) === undefined)
        add('key-missing', idOf(key), `${describe(key)} in the topic, no look-up in Redis finds it`)
  }
}

function reasonFor(keys: readonly FoundKey[]): string {
  const ids = [...new Set(keys.map(idOf))]
  return ids.length === 1 ? 'its live records are in two partitions' : `${ids.join(', ')} have the same digest`
}

/** A look-up finds only this claim; undefined if there are several, or none. */
const onlyClaim = <T>(claims: readonly T[] = []): T | undefined => (claims.length === 1 ? claims[0] : undefined)

/** `stored`: what a look-up in Redis finds. `allowed`: what it may find; empty for nothing. */
function compareClaim(stored: FoundKey | undefined, allowed: readonly FoundKey[], add: AddDifference): void {
  if (stored === undefined || allowed.some((key) => isDeepStrictEqual(key, stored))) return
  const [inTopic] = allowed
  const expectation =
    inTopic === undefined ? 'no single live key in the topic has its digest' : `the topic says ${describe(inTopic)}`
  const kind = isAcceptedWrongly(stored, allowed) ? 'key-accepted' : 'key-differs'
  add(kind, idOf(stored), `${describe(stored)} in Redis, ${expectation}`)
}

/** Whether the API accepts a key that, in the topic, is unknown, revoked, or expires earlier. */
const isAcceptedWrongly = (stored: FoundKey, allowed: readonly FoundKey[]): boolean =>
  stored.state === 'active' &&
  !allowed.some((key) => key.state === 'active' && idOf(key) === idOf(stored) && expiryOf(key) >= expiryOf(stored))

const expiryOf = ({ expiresAtMs }: FoundKey): number => expiresAtMs ?? Number.POSITIVE_INFINITY

const describe = (key: FoundKey): string =>
  `${key.state}${key.expiresAtMs === null ? '' : ` until ${new Date(key.expiresAtMs).toISOString()}`} as ${idOf(key)}`

function compareStates(expected: ExpectedAccountKeys, { states }: AccountKeySurvey, add: AddDifference): void {
  for (const [id, newest] of expected.states) {
    const problem = problemOf(states.get(id), newest)
    if (problem !== undefined) add(problem[0], id, problem[1])
  }
  // Without a record, a deletion in Redis is right: Kafka has removed the record after its retention.
  for (const [id, { key, revision }] of states)
    if (key !== null && !expected.states.has(id))
      add('key-differs', id, `revision ${revision} in Redis, none in the topic`)
}

/** Undefined if the stored state is right. */
function problemOf(
  stored: AccountKeyState | undefined,
  newest: NewestStates,
): readonly [DifferenceKind, string] | undefined {
  const [{ key, revision }] = newest
  if (key === null)
    return stored?.key === null ? undefined : ['key-deletion', 'deleted in the topic, but Redis has no deletion']
  if (stored === undefined) return ['key-missing', 'live in the topic, not in Redis']
  if (stored.key === null) return ['key-missing', 'live in the topic, deleted in Redis']
  if (isAmong(stored, newest)) return undefined
  const isSameRevision = stored.revision === revision
  const detail = isSameRevision ? 'differs from its record' : `in Redis, ${revision} in the topic`
  return ['key-differs', `revision ${stored.revision} ${detail}`]
}

import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { SourceRecord } from '../../src/core/kafka/sourceRecord.ts'
import { type AccountKeyState, accountKeyValue } from '../../src/core/model/accountKey.ts'
import { type Digest, type DocumentId, documentId, entityIdOf, teamIdOf } from '../../src/core/model/ids.ts'
import { readAccountKeyRecord } from '../../src/core/model/record.ts'
import { AccountKeyStore, AccountKeysIncomplete, holderOf, readField } from '../../src/core/redis/accountKeyStore.ts'
import type { KeyHolder } from '../../src/core/redis/keyLookups.ts'
import type { RedisConnection } from '../../src/core/redis/redis.ts'
import { scanHashes } from '../../src/core/redis/scanHashes.ts'
import type { Difference, DifferenceKind, DifferenceReport } from './differenceReport.ts'
import type { VerifyContext } from './verifyContext.ts'

/** A change reaches both Kafka and Redis within seconds; what still differs after so many comparisons was not under way. */
const comparisons = 5
const pauseMs = 1_000

/** Compares the account-key store in Redis with the topic. Returns how many live keys it holds. */
export async function verifyAccountKeys(context: VerifyContext, differences: DifferenceReport): Promise<number> {
  context.report.step('account keys in Redis are compared with their topic')
  const runId = await expectComplete(context)
  const first = await compareOnce(context)
  let lasting = first.differences
  for (let done = 1; lasting.size > 0 && done < comparisons; done++) {
    await sleep(pauseMs, undefined, { signal: context.signal })
    const again = await compareOnce(context)
    lasting = new Map([...again.differences].filter(([name]) => lasting.has(name)))
  }
  if ((await expectComplete(context)) !== runId) throw new Error('Redis was restarted meanwhile')
  for (const difference of lasting.values()) differences.add(difference)
  return first.keys
}

/** Returns the run of Redis, in which the account-key store is complete. */
async function expectComplete({ redis }: VerifyContext): Promise<string | undefined> {
  if (!(await new AccountKeyStore(redis).isComplete())) throw new AccountKeysIncomplete()
  return redis.runId()
}

async function compareOnce({ config, source, redis, team, rest, signal }: VerifyContext) {
  const fold = new AccountKeyFold()
  await source.readTopic({
    ...{ topic: config.TOPIC_ACCOUNT_KEYS, signal },
    onRecord: async (record) => {
      fold.apply(record)
      await rest()
    },
  })
  const survey = await surveyAccountKeys(redis)
  const live = [...fold.states].filter(([id, [{ key }]]) => key !== null && isOf(team, id))
  return { keys: live.length, differences: compareAccountKeys(fold, survey, team) }
}

const isOf = (team: VerifyContext['team'], id: DocumentId): boolean => team === undefined || teamIdOf(id) === team

/** What the account-key store holds: the state of each key, deleted ones included, and the holders of each digest. */
export type AccountKeySurvey = Awaited<ReturnType<typeof surveyAccountKeys>>

/** Reads the whole account-key store in pages. Concurrent writes may be included or not. */
export async function surveyAccountKeys(redis: RedisConnection) {
  const { keys: names } = redis
  const states = new Map<DocumentId, AccountKeyState>()
  // A deletion moves from the first to the second.
  for (const prefix of [names.teamKeys(''), names.deletedKeys('')])
    for await (const [teamId, hash] of scanHashes(redis, prefix))
      for (const [keyId, field] of Object.entries(hash)) {
        const state = readField(field)
        if (state !== undefined) states.set(`${teamId}/${keyId}` as DocumentId, state)
      }
  // Digest → the live keys that share it; a look-up succeeds for one key only.
  const claims = new Map<Digest, readonly KeyHolder[]>()
  for await (const [digest, hash] of scanHashes(redis, names.accountKey(''))) {
    const holders = Object.values(hash).map((text) => JSON.parse(text) as KeyHolder)
    claims.set(digest as Digest, holders)
  }
  return { states, claims }
}

/** The newest states of a key: several when two writers made one revision at once. */
type Newest = readonly [AccountKeyState, ...AccountKeyState[]]

/**
 * What the account-key store must hold, by the rules of its scripts (`accountKeyScripts.ts`), whatever the order of the records: a
 * deletion beats all, then the highest revision, then the revocation; a digest that several live keys claim opens none of them, nor one whose key has live records in two partitions.
 */
export class AccountKeyFold {
  /** Of every key, deleted ones included. */
  readonly states = new Map<DocumentId, Newest>()
  /** The partition of the last live record of each key, and the keys that have one in another partition, too. */
  readonly #partitions = new Map<DocumentId, number>()
  readonly #split = new Set<DocumentId>()

  /** Applies a record of `account-keys`; a dead letter changes nothing. */
  apply(record: SourceRecord): void {
    const read = readAccountKeyRecord(record.key, record.value)
    if (!read.ok) return
    const { teamId, entityId, ...state } = read.value
    const id = documentId(teamId, entityId)
    if (state.key !== null) {
      if ((this.#partitions.get(id) ?? record.partition) !== record.partition) this.#split.add(id)
      this.#partitions.set(id, record.partition)
    }
    const known = this.states.get(id)
    const order = known === undefined ? 1 : orderOf(state, known[0])
    if (known === undefined || order > 0) this.states.set(id, [state])
    else if (order === 0 && !isAmong(state, known)) this.states.set(id, [...known, state])
  }

  /** For each digest the live keys that claim it, each by the holders that a look-up may find; twice if two partitions have live records of it. */
  claims(): ReadonlyMap<Digest, readonly (readonly KeyHolder[])[]> {
    const claims = new Map<Digest, KeyHolder[][]>()
    for (const [id, newest] of this.states) {
      const live = newest.flatMap(({ key }) => key ?? [])
      for (const [digest, keys] of Map.groupBy(live, (key) => key.digest)) {
        const holders = keys.map((key) => holderOf(teamIdOf(id), entityIdOf(id), key))
        const own = this.#split.has(id) ? [holders, holders] : [holders]
        claims.set(digest, [...(claims.get(digest) ?? []), ...own])
      }
    }
    return claims
  }
}

/** Positive when `a` is newer than `b`: deleted, else by revision, then by being revoked. Two deletions are equal. */
function orderOf(a: AccountKeyState, b: AccountKeyState): number {
  if (a.key === null || b.key === null) return Number(a.key === null) - Number(b.key === null)
  return a.revision - b.revision || Number(a.key.state === 'revoked') - Number(b.key.state === 'revoked')
}

const isAmong = (state: AccountKeyState, states: readonly AccountKeyState[]): boolean =>
  states.some((each) => accountKeyValue(each) === accountKeyValue(state))

const idOf = ({ teamId, keyId }: KeyHolder): DocumentId => documentId(teamId, keyId)

type Add = (kind: DifferenceKind, id: DocumentId, detail: string) => void

/** Compares the account-key store with the fold of the topic; with a team only that team's keys. By a name that is the same next time. */
export function compareAccountKeys(fold: AccountKeyFold, stored: AccountKeySurvey, team: VerifyContext['team']) {
  const differences = new Map<string, Difference>()
  const add: Add = (kind, id, detail) => {
    const name = `${kind} ${id}`
    if (isOf(team, id) && !differences.has(name)) differences.set(name, { kind, id, where: 'account-keys', detail })
  }
  compareClaims(fold, stored, add)
  compareStates(fold, stored, add)
  return differences
}

function compareClaims(fold: AccountKeyFold, { claims }: AccountKeySurvey, add: Add): void {
  const expected = fold.claims()
  for (const [digest, found] of claims) compareOpened(opens(found), opens(expected.get(digest)) ?? [], add)
  for (const [digest, claimants] of expected) {
    const holders = claimants.flatMap(([holder]) => holder ?? [])
    for (const holder of holders)
      if (holders.length > 1)
        add('key-contested', idOf(holder), `opens nothing: ${holders.map(idOf).join(', ')} claim one digest`)
      else if (opens(claims.get(digest)) === undefined)
        add('key-missing', idOf(holder), `${describe(holder)} in the topic, no look-up in Redis finds it`)
  }
}

/** The one of a digest's claims that a look-up finds. */
const opens = <T>(claims: readonly T[] = []): T | undefined => (claims.length === 1 ? claims[0] : undefined)

function compareOpened(found: KeyHolder | undefined, allowed: readonly KeyHolder[], add: Add): void {
  if (found === undefined || allowed.some((each) => isDeepStrictEqual(each, found))) return
  const known = allowed[0] === undefined ? 'nobody may use its digest' : `the topic says ${describe(allowed[0])}`
  const kind = isAccepted(found, allowed) ? 'key-accepted' : 'key-differs'
  add(kind, idOf(found), `${describe(found)} in Redis, ${known}`)
}

/** Whether Redis accepts a key that the topic does not, or for longer. */
const isAccepted = (found: KeyHolder, allowed: readonly KeyHolder[]): boolean =>
  found.state === 'active' &&
  !allowed.some((each) => each.state === 'active' && idOf(each) === idOf(found) && expiryOf(each) >= expiryOf(found))
const expiryOf = ({ expiresAtMs }: KeyHolder): number => expiresAtMs ?? Number.POSITIVE_INFINITY

const describe = (holder: KeyHolder): string =>
  `${holder.state}${holder.expiresAtMs === null ? '' : ` until ${new Date(holder.expiresAtMs).toISOString()}`} as ${idOf(holder)}`

function compareStates(fold: AccountKeyFold, { states }: AccountKeySurvey, add: Add): void {
  for (const [id, newest] of fold.states) {
    const problem = problemOf(states.get(id), newest)
    if (problem !== undefined) add(problem[0], id, problem[1])
  }
  // Redis remembers a deletion whose record Kafka has forgotten.
  for (const [id, { key, revision }] of states)
    if (key !== null && !fold.states.has(id)) add('key-differs', id, `revision ${revision} in Redis, none in the topic`)
}

function problemOf(stored: AccountKeyState | undefined, newest: Newest): readonly [DifferenceKind, string] | undefined {
  const [{ key, revision }] = newest
  if (key === null)
    return stored?.key === null
      ? undefined
      : ['key-deletion', 'deleted in the topic, not remembered as deleted in Redis']
  if (stored === undefined) return ['key-missing', 'live in the topic, not in Redis']
  if (stored.key === null) return ['key-missing', 'live in the topic, deleted in Redis']
  if (isAmong(stored, newest)) return undefined
  const isOther = stored.revision === revision
  const detail = isOther ? 'differs from its record' : `in Redis, ${revision} in the topic`
  return ['key-differs', `revision ${stored.revision} ${detail}`]
}

import { z } from 'zod'
import { type AccountKey, type AccountKeyState, accountKeyValue, maxKeysPerTeam } from '../model/accountKey.ts'
import { type Branded, type Digest, type EntityId, type Revision, randomToken, type TeamId } from '../model/ids.ts'
import {
  type Freshness,
  type FreshnessReply,
  freshnessIn,
  freshnessNames,
  lacksToken,
  readListVersions,
} from './listVersions.ts'
import { type RedisConnection, run } from './redis.ts'
import type { RedisKeys } from './redisKeys.ts'
import { applyScript, completeScript, holdersScript, lookupScript, reserveScript } from './redisScripts.ts'

/** Whose key a digest is. `expiresAtMs` is null for a key without expiry. */
export type KeyHolder = { teamId: TeamId; keyId: EntityId; state: 'active' | 'revoked'; expiresAtMs: number | null }

/** A live key as the store holds it: the newest state in its records, and its revision. */
export type StoredKey = AccountKey & { readonly revision: Revision }

export const stateOf = ({ revision, ...key }: StoredKey): AccountKeyState => ({ revision, key })

/** Where a record was appended, as text that sorts in the order of its partition. */
export type AppendPosition = Branded<string, 'AppendPosition'>

/** The holder of a key, with how fresh the lists of its team are. */
export type Lookup =
  | { readonly found: KeyHolder; readonly freshness: Freshness }
  | { readonly found: null }
  | 'incomplete'

/** What applying a record did. */
export type Applied =
  | { readonly kind: 'applied' }
  /**
   * Nothing was changed: what is stored is the same or newer (`conflict`: of the same revision, with another content). `newest` is what is
   * stored if this record was appended after it: compaction would keep this one.
   */
  | { readonly kind: 'stale' | 'conflict'; readonly newest: AccountKeyState | undefined }

/** `held`: the id has a key already; `surplus`: it has one, and the team holds all its slots without it. */
type Reserved = 'reserved' | 'full' | 'held' | 'surplus' | 'deleted'

/** A digest that several live keys claim, with those keys (`<teamId>/<keyId>`). */
export type ContestedDigest = { readonly digest: Digest; readonly keys: readonly string[] }

/** Redis has lost account keys, and the indexer has not replayed them yet. */
export class AccountKeysIncomplete extends Error {
  constructor() {
    super('the account-key store is not complete')
    this.name = 'AccountKeysIncomplete'
  }
}

/**
 * The account keys in Redis, by which requests are authenticated. Kafka is their durable copy. Every write goes through one of the
 * scripts in redisScripts.ts. The scripts compare revisions, so records may be applied twice, late, and by several writers.
 * A look-up finds nothing by a digest that several live keys claim, revoked ones included, until one of them is deleted or has another.
 */
export type AccountKeyStore = {
  /**
   * Looks a key up by its digest, and reads the freshness of its team's lists (see `readListVersions`). The same request checks that
   * the store is complete.
   */
  lookup(digest: Digest): Promise<Lookup>
  /** Applies a state, also to an incomplete store. `position`: where its record was appended, if there is one yet. */
  apply(teamId: TeamId, keyId: EntityId, state: AccountKeyState, position?: AppendPosition): Promise<Applied>
  /** Applies a record to a complete store only. */
  applyRecord(
    teamId: TeamId,
    keyId: EntityId,
    state: AccountKeyState,
    position: AppendPosition,
  ): Promise<Applied | { readonly kind: 'incomplete' }>
  /**
   * Takes one of the team's slots until `untilMs`; applying the key's record makes it a lasting one, a deletion frees it. An id
   * that was reserved before keeps its slot.
   */
  reserve(teamId: TeamId, keyId: EntityId, nowMs: number, untilMs: number): Promise<Reserved>
  /** The team's live keys, without slots that are only reserved. */
  list(teamId: TeamId): Promise<StoredKey[]>
  /** The newest state of a key; undefined for one that is unknown or only reserved. */
  find(teamId: TeamId, keyId: EntityId): Promise<AccountKeyState | undefined>
  /** Digests that several live keys claim; at most `max`, of so many keys each. */
  contested(max: number): Promise<ContestedDigest[]>
  isComplete(): Promise<boolean>
  /** Starts a replay of all records under a token of its own. `complete` ends it; false when Redis lost keys meanwhile. */
  beginReplay(token: string): Promise<{ complete(): Promise<boolean> }>
}

/** A replay that takes longer starts again. */
const replayLifeMs = 3_600_000

const namesAtOnce = 500

const [partitionDigits, offsetDigits] = [10, 19]

/** The position of a record in its topic. */
export const appendPositionOf = ({ partition, offset }: { partition: number; offset: bigint }): AppendPosition =>
  `${String(partition).padStart(partitionDigits, '0')}/${String(offset).padStart(offsetDigits, '0')}` as AppendPosition

const applyReply = z.union([
  z.tuple([z.literal('incomplete')]),
  z.tuple([z.literal('applied')]),
  z.tuple([z.enum(['stale', 'conflict'])]).rest(z.string().nullable()),
])
const reserveReply = z.enum(['reserved', 'full', 'held', 'surplus', 'deleted', 'incomplete'])

type LookupReply = readonly [complete: string | null, holder: string | null, ...FreshnessReply]

export function accountKeyStore(redis: RedisConnection, keys: RedisKeys): AccountKeyStore {
  const { client, runId } = redis
  const isComplete = async (): Promise<boolean> => isCurrent(await client.get(keys.accountKeysComplete), runId())
  const requireComplete = async (): Promise<void> => {
    if (!(await isComplete())) throw new AccountKeysIncomplete()
  }
  return {
    isComplete,
    lookup: (digest) => lookUp(redis, keys, digest),
    apply: async (teamId, keyId, state, position) => {
      const applied = await applyChange(redis, keys, { teamId, keyId, state, position })
      if (applied.kind === 'incomplete') throw new Error('a change was answered with incomplete')
      return applied
    },
    applyRecord: async (teamId, keyId, state, position) =>
      await applyChange(redis, keys, { teamId, keyId, state, position }, runId() ?? ''),
    reserve: async (teamId, keyId, nowMs, untilMs) => {
      const values = [keyId, nowMs, untilMs, maxKeysPerTeam, keys.accountKeysComplete, runId() ?? '']
      const reply = reserveReply.parse(await run(redis, reserveScript, [keys.teamKeys(teamId)], values))
      if (reply === 'incomplete') throw new AccountKeysIncomplete()
      return reply
    },
    list: async (teamId) => {
      await requireComplete()
      const fields = Object.values(await client.hgetall(keys.teamKeys(teamId)))
      return fields.flatMap((field) => {
        const { revision, key } = readField(field) ?? { key: null }
        return key === null || revision === undefined ? [] : [{ ...key, revision }]
      })
    },
    find: async (teamId, keyId) => {
      await requireComplete()
      return readField((await client.hget(keys.teamKeys(teamId), keyId)) ?? '')
    },
    contested: async (max) => {
      const digests = ((await client.smembers(keys.contestedDigests)) as Digest[]).sort().slice(0, max)
      const claims = await Promise.all(digests.map((digest) => client.hkeys(keys.accountKey(digest))))
      return digests.map((digest, at) => ({ digest, keys: (claims[at] ?? []).sort().slice(0, max) }))
    },
    beginReplay: async (token) => {
      const startedOn = runId()
      const replay = keys.accountKeyReplay(token)
      await client.set(replay, '1', 'PX', replayLifeMs)
      const complete = async (): Promise<boolean> => {
        if (startedOn === undefined || runId() !== startedOn) return false
        return (await run(redis, completeScript, [keys.accountKeysComplete, replay], [startedOn])) === 1
      }
      return { complete }
    },
  }
}

async function lookUp(redis: RedisConnection, keys: RedisKeys, digest: Digest): ReturnType<AccountKeyStore['lookup']> {
  const names = [keys.accountKeysComplete, keys.accountKey(digest), ...freshnessNames(keys)]
  const [complete, holder, ...read] = (await run(redis, lookupScript, [], names)) as LookupReply
  if (!isCurrent(complete, redis.runId())) return 'incomplete'
  if (holder === null) return { found: null }
  const found = JSON.parse(holder) as KeyHolder
  const freshness = lacksToken(read)
    ? await readListVersions(redis, keys, found.teamId, randomToken)
    : freshnessIn(read, redis.runId())
  return { found, freshness }
}

/** Applies a change; `requiredRun`: only while the store is complete on this run of Redis. */
async function applyChange(
  redis: RedisConnection,
  keys: RedisKeys,
  { teamId, keyId, state, position }: Change,
  requiredRun?: string,
): Promise<Applied | { readonly kind: 'incomplete' }> {
  const names = [
    ...[keys.teamKeys(teamId), keys.accountKeyPrefix, keys.contestedDigests],
    ...(requiredRun === undefined ? [] : [keys.accountKeysComplete]),
  ]
  const holder = state.key === null ? '' : JSON.stringify(holderOf(teamId, keyId, state.key))
  const values = [teamId, keyId, position ?? '', accountKeyValue(state), holder, requiredRun ?? '']
  return readApplyReply(await run(redis, applyScript, names, values))
}

const isCurrent = (completeOn: string | null, runId: string | undefined): boolean =>
  completeOn !== null && completeOn === runId

type Change = {
  readonly teamId: TeamId
  readonly keyId: EntityId
  readonly state: AccountKeyState
  readonly position: AppendPosition | undefined
}

/** What a look-up by its digest finds of a live key. */
export const holderOf = (teamId: TeamId, keyId: EntityId, { state, expiresAt }: AccountKey): KeyHolder => ({
  teamId,
  keyId,
  state,
  expiresAtMs: expiresAt == null ? null : Date.parse(expiresAt),
})

/** The state in a field of `teamKeys`; undefined for a slot that is only reserved. */
export function readField(field: string): AccountKeyState | undefined {
  const value = field.slice(field.indexOf(' ') + 1)
  const state = value === '' ? undefined : (JSON.parse(value) as AccountKeyState)
  return state === undefined || state.revision === 0 ? undefined : state
}

function readApplyReply(reply: unknown): Applied | { readonly kind: 'incomplete' } {
  const [kind, newest] = applyReply.parse(reply)
  if (kind === 'applied' || kind === 'incomplete') return { kind }
  return { kind, newest: newest == null ? undefined : (JSON.parse(newest) as AccountKeyState) }
}

/** The holders of several keys in the order of `digests`, null for a key that nobody holds, or that several claim; undefined while the account-key store is not complete. */
export async function readHolders(
  redis: RedisConnection,
  keys: RedisKeys,
  digests: readonly Digest[],
): Promise<(KeyHolder | null)[] | undefined> {
  const names = [keys.accountKeysComplete, ...digests.map((digest) => keys.accountKey(digest))]
  const [complete, ...entries] = (await run(redis, holdersScript, [], names)) as string[]
  if (complete !== redis.runId()) return undefined
  return entries.map((entry) => (entry === '' ? null : (JSON.parse(entry) as KeyHolder)))
}

/** Everything that the account-key store holds, deleted keys included, without slots that are only reserved. */
export type AccountKeySurvey = {
  readonly keys: readonly { readonly teamId: TeamId; readonly keyId: EntityId; readonly state: AccountKeyState }[]
  /** Which live keys claim each digest. A look-up finds a single one. */
  readonly claims: ReadonlyMap<Digest, readonly KeyHolder[]>
}

/** Reads the whole account-key store, page by page, without changing anything. What is written meanwhile may be in it or not. */
export async function surveyAccountKeys({ client }: RedisConnection, names: RedisKeys): Promise<AccountKeySurvey> {
  const keys: AccountKeySurvey['keys'][number][] = []
  for await (const [name, hash] of hashesWith(client, names.teamKeysPrefix))
    for (const [keyId, field] of Object.entries(hash)) {
      const state = readField(field)
      const teamId = name.slice(names.teamKeysPrefix.length) as TeamId
      if (state !== undefined) keys.push({ teamId, keyId: keyId as EntityId, state })
    }
  const claims = new Map<Digest, KeyHolder[]>()
  for await (const [name, hash] of hashesWith(client, names.accountKeyPrefix)) {
    const holders = Object.values(hash).map((text) => JSON.parse(text) as KeyHolder)
    claims.set(name.slice(names.accountKeyPrefix.length) as Digest, holders)
  }
  return { keys, claims }
}

async function* hashesWith(
  client: RedisConnection['client'],
  prefix: string,
): AsyncGenerator<readonly [name: string, hash: Record<string, string>]> {
  // A prefix of index names has none of the characters that a pattern knows.
  for (let cursor = '0'; ; ) {
    const [next, page] = await client.scan(cursor, 'MATCH', `${prefix}*`, 'COUNT', namesAtOnce)
    const hashes = await Promise.all(page.map((name) => client.hgetall(name)))
    for (const [at, hash] of hashes.entries()) yield [page[at] ?? '', hash]
    if (next === '0') return
    cursor = next
  }
}

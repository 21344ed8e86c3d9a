import type { Redis } from 'ioredis'
import { z } from 'zod'
import { type AccountKey, maxKeysPerTeam } from '../model/accountKey.ts'
import {
  type Branded,
  type Digest,
  deletedRevision,
  type EntityId,
  type Offset,
  type Revision,
  type TeamId,
  toOffset,
} from '../model/ids.ts'
import { toInstant } from '../model/instant.ts'
import { applyScript, completeScript, listScript, reserveScript } from './accountKeyScripts.ts'
import type { RedisConnection } from './redis.ts'
import type { RedisKeys } from './redisKeys.ts'

/** Whose key a digest is. `expiresAtMs` is null for a key without expiry. */
export type KeyHolder = { teamId: TeamId; keyId: EntityId; state: 'active' | 'revoked'; expiresAtMs: number | null }

/** A key as the store holds it: its newest record and that record's revision. */
export type StoredKey = AccountKey & { readonly revision: Revision }

/** Where a record was appended: text that sorts by append time, partition and offset. */
export type AppendPosition = Branded<string, 'AppendPosition'>

/** A key's claim to a digest: where its first record with this digest was appended. */
export type Claim = {
  readonly teamId: TeamId
  readonly keyId: EntityId
  readonly digest: Digest
  readonly position: AppendPosition
}

/** The result of applying a record, or why it was not applied yet. */
export type ApplyRecordResult =
  | { readonly kind: 'incomplete' }
  /** A key that was appended later holds the digest; `at` is the position of its newest record, if that is known. */
  | { readonly kind: 'displaces'; readonly holder: DisplacedKey; readonly at: AppendPosition | undefined }
  | {
      readonly kind: Applied
      /** When several live keys have the digest: the first claim and this key's own, as far as their positions are known. */
      readonly contested: readonly Claim[]
      /** The key's newest record, when the applied record is older but was appended after it. */
      readonly newest: StoredKey | undefined
    }

/** The claim of a key that loses its digest to a key that was appended first. */
export type DisplacedKey = Branded<string, 'DisplacedKey'>

export type Lookup = { readonly found: KeyHolder | null } | 'incomplete'
export type Applied = 'applied' | 'stale' | 'digest-held'
/** The result of reserving a slot. `held`: the id has a key already. */
export type Reserved = 'reserved' | 'full' | 'held' | 'deleted'

/** Redis has lost account keys, and the indexer has not replayed them all yet: no answer would be certain. */
export class AccountKeysIncomplete extends Error {
  constructor() {
    super('the account-key store is not complete')
    this.name = 'AccountKeysIncomplete'
  }
}

/**
 * The account keys in Redis, by which requests are authenticated. Kafka is the source of truth. Every write is one of the scripts
 * in accountKeyScripts.ts, which compare revisions and positions, so that records may be applied twice, late, in any order and by
 * several writers. Of the live keys with the same digest, revoked ones included, the key that was appended first holds it; the
 * others are stored, but no lookup finds them.
 */
export type AccountKeyStore = {
  /** Looks a key up by its digest, and checks in the same command that the store is complete. */
  lookup(digest: Digest): Promise<Lookup>
  /** Applies a change, also to an incomplete store; null deletes for good. Without a position it counts as appended last. */
  apply(teamId: TeamId, keyId: EntityId, key: StoredKey | null, position?: AppendPosition): Promise<Applied>
  /** Applies a record to a complete store only. Takes a digest from no other key than `mayDisplace`. */
  applyRecord(
    teamId: TeamId,
    keyId: EntityId,
    key: StoredKey | null,
    position: AppendPosition,
    mayDisplace?: DisplacedKey,
  ): Promise<ApplyRecordResult>
  /** Stores a claim that is known from elsewhere than the key's record. */
  claim(claim: Claim): Promise<void>
  /**
   * Reserves one of the team's slots until `untilMs`. Applying the key's record keeps the slot for good; deleting the key frees it.
   * An id that was reserved before keeps its slot.
   */
  reserve(teamId: TeamId, keyId: EntityId, nowMs: number, untilMs: number): Promise<Reserved>
  /** The team's keys, without reserved slots and without keys that do not hold their digest. */
  list(teamId: TeamId): Promise<StoredKey[]>
  wasDeleted(teamId: TeamId, keyId: EntityId): Promise<boolean>
  isComplete(): Promise<boolean>
  /** Begins a replay of all records, under a token of its own. `complete` ends it: true when the store is complete now. */
  beginReplay(token: string): Promise<{ complete(): Promise<boolean> }>
}

/** A replay that takes longer must begin again. */
const replayLifeMs = 3_600_000

/** Sorts after every position of a record. */
const lastPosition = '9999-12-31T23:59:59.999Z/9999999999/9999999999999999999' as AppendPosition
const [partitionDigits, offsetDigits] = [10, 19]
const belowAllRevisions = 0
const anyDisplaced = '*'

/** Where a record was appended. */
export const appendPositionOf = (record: { appendedAtMs: number; partition: number; offset: bigint }): AppendPosition =>
  [
    toInstant(record.appendedAtMs),
    String(record.partition).padStart(partitionDigits, '0'),
    String(record.offset).padStart(offsetDigits, '0'),
  ].join('/') as AppendPosition

/** The partition and offset in a position, by which the record can be read again. */
export function partitionAndOffsetOf(position: AppendPosition): {
  readonly partition: number
  readonly offset: Offset
} {
  const [, partition = '', offset = ''] = position.split('/')
  return { partition: Number(partition), offset: toOffset(offset) }
}

const applyReply = z.object({
  outcome: z.enum(['incomplete', 'displaces', 'applied', 'stale', 'digest-held']),
  digest: z.string().optional(),
  claim: z.string().optional(),
  first: z.string().optional(),
  entry: z.string().optional(),
})
const reserveReply = z.enum(['reserved', 'full', 'held', 'deleted'])

export function accountKeyStore({ client, runId }: RedisConnection, keys: RedisKeys): AccountKeyStore {
  const isComplete = async (): Promise<boolean> => isCurrent(await client.get(keys.accountKeysComplete), runId())
  const requireComplete = async (): Promise<void> => {
    if (!(await isComplete())) throw new AccountKeysIncomplete()
  }
  const applied = async (change: Change, mayDisplace: string, run?: string): Promise<ApplyRecordResult> => {
    const { teamId, keyId, revision, entry, digest, position } = change
    const names = [
      keys.teamKeysPrefix,
      keys.deletedKeys(teamId),
      keys.keyClaims(teamId),
      keys.digestClaimsPrefix,
      keys.accountKeyPrefix,
      ...(run === undefined ? [] : [keys.accountKeysComplete]),
    ]
    const values = [teamId, keyId, revision, entry, digest, position, mayDisplace, run ?? '']
    return readApplyReply(String(await evaluate(client, applyScript, names, values)), position)
  }
  return {
    isComplete,
    lookup: async (digest) => {
      const [complete, holder] = await client.mget(keys.accountKeysComplete, keys.accountKey(digest))
      if (!isCurrent(complete ?? null, runId())) return 'incomplete'
      return { found: holder == null ? null : (JSON.parse(holder) as KeyHolder) }
    },
    apply: async (teamId, keyId, key, position = lastPosition) => {
      const { kind } = await applied(changeOf(teamId, keyId, key, position), anyDisplaced)
      if (kind === 'incomplete' || kind === 'displaces') throw new Error(`a change was answered with ${kind}`)
      return kind
    },
    applyRecord: async (teamId, keyId, key, position, mayDisplace) =>
      await applied(changeOf(teamId, keyId, key, position), mayDisplace ?? '', runId() ?? ''),
    claim: async (claim) => {
      await applied({ ...claim, revision: belowAllRevisions, entry: '' }, anyDisplaced)
    },
    reserve: async (teamId, keyId, nowMs, untilMs) => {
      await requireComplete()
      const names = [keys.teamKeys(teamId), keys.deletedKeys(teamId), keys.accountKeyPrefix]
      const answer = await evaluate(client, reserveScript, names, [keyId, nowMs, untilMs, maxKeysPerTeam])
      return reserveReply.parse(answer)
    },
    list: async (teamId) => {
      await requireComplete()
      const entries = await evaluate(client, listScript, [keys.teamKeys(teamId), keys.accountKeyPrefix], [])
      return z
        .array(z.string())
        .parse(entries)
        .map((text) => keyIn(JSON.parse(text) as Entry))
    },
    wasDeleted: async (teamId, keyId) => (await client.sismember(keys.deletedKeys(teamId), keyId)) === 1,
    beginReplay: (token) => beginReplay({ client, runId }, keys, token),
  }
}

async function beginReplay(
  { client, runId }: Pick<RedisConnection, 'client' | 'runId'>,
  keys: RedisKeys,
  token: string,
): Promise<{ complete(): Promise<boolean> }> {
  const startedOn = runId()
  await client.set(keys.accountKeyReplay(token), '1', 'PX', replayLifeMs)
  return {
    complete: async () => {
      if (startedOn === undefined || runId() !== startedOn) return false
      const names = [keys.accountKeysComplete, keys.accountKeyReplay(token)]
      return (await evaluate(client, completeScript, names, [startedOn])) === 1
    },
  }
}

const isCurrent = (completeOn: string | null, runId: string | undefined): boolean =>
  completeOn !== null && completeOn === runId

/** What `teamKeys` holds of a key; see accountKeyScripts.ts. */
type Entry = {
  readonly revision: Revision
  readonly key: AccountKey
  readonly holder: string
  readonly at: AppendPosition | undefined
}

const keyIn = ({ revision, key }: Entry): StoredKey => ({ ...key, revision })

/** The arguments of `applyScript` for one record. */
type Change = Omit<Claim, 'digest'> & {
  readonly revision: number
  readonly entry: string
  readonly digest: Digest | ''
}

function changeOf(teamId: TeamId, keyId: EntityId, stored: StoredKey | null, position: AppendPosition): Change {
  if (stored === null) return { teamId, keyId, revision: deletedRevision, entry: '', digest: '', position }
  const { revision, ...key } = stored
  const expiresAtMs = key.expiresAt == null ? null : Date.parse(key.expiresAt)
  const holder: KeyHolder = { teamId, keyId, state: key.state, expiresAtMs }
  const at = position === lastPosition ? undefined : position
  const entry: Entry = { revision, key, holder: JSON.stringify(holder), at }
  return { teamId, keyId, revision, entry: JSON.stringify(entry), digest: key.digest, position }
}

function readApplyReply(text: string, position: AppendPosition): ApplyRecordResult {
  const { outcome, digest, claim, first, entry } = applyReply.parse(JSON.parse(text))
  const stored = entry === undefined ? undefined : (JSON.parse(entry) as Entry)
  switch (outcome) {
    case 'incomplete':
      return { kind: outcome }
    case 'displaces':
      return { kind: outcome, holder: (first ?? '') as DisplacedKey, at: stored?.at }
    case 'applied':
    case 'stale':
    case 'digest-held': {
      const claims = [...new Set([first, claim])].flatMap((each) => (each === undefined ? [] : [each]))
      const contested = claims
        .map((each) => readClaim(each, digest as Digest))
        .filter(({ position }) => position !== lastPosition)
      const isLate = stored !== undefined && (stored.at ?? '') < position
      return { kind: outcome, contested, newest: isLate ? keyIn(stored) : undefined }
    }
  }
}

function readClaim(text: string, digest: Digest): Claim {
  const [, position, teamId, keyId] = /^(\S+) ([^/]+)\/(.+)$/.exec(text) ?? []
  return { teamId: teamId as TeamId, keyId: keyId as EntityId, digest, position: position as AppendPosition }
}

const evaluate = (client: Redis, script: string, names: string[], values: (string | number)[]): Promise<unknown> =>
  client.eval(script, names.length, ...names, ...values)

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
  randomToken,
  type TeamId,
  toOffset,
} from '../model/ids.ts'
import { toInstant } from '../model/instant.ts'
import { applyScript, completeScript, lastPosition, listScript, reserveScript } from './accountKeyScripts.ts'
import {
  type Freshness,
  type FreshnessReply,
  freshnessIn,
  freshnessLua,
  freshnessNames,
  lacksToken,
  readListVersions,
} from './listVersions.ts'
import { type RedisConnection, runScript, script } from './redis.ts'
import type { RedisKeys } from './redisKeys.ts'

/** Whose key a digest is. `expiresAtMs` is null for a key without expiry. */
export type KeyHolder = { teamId: TeamId; keyId: EntityId; state: 'active' | 'revoked'; expiresAtMs: number | null }

/** A key as the store holds it: the newest state in its records, and its revision. */
export type StoredKey = AccountKey & { readonly revision: Revision }

/** Where a record was appended, as text that sorts in the order of append time, partition and offset. */
export type AppendPosition = Branded<string, 'AppendPosition'>

/** Where the first record of a key with this digest was appended. */
export type Claim = {
  readonly teamId: TeamId
  readonly keyId: EntityId
  readonly digest: Digest
  readonly position: AppendPosition
}

/** The result of applying a record from the topic. */
export type ApplyRecordResult =
  | { readonly kind: 'incomplete' }
  /** Nothing was changed: a key that was appended later holds the digest. `at` is the position of its newest record, if it is known. */
  | { readonly kind: 'displaces'; readonly holder: DisplacedKey; readonly at: AppendPosition | undefined }
  | {
      readonly kind: Applied
      readonly isDeleted: boolean
      /** The first claim and this key's own, as far as their positions are known, when several live keys have the digest. */
      readonly contested: readonly Claim[]
      /** The newest record of the key, when this one is older but was appended after it. */
      readonly newest: StoredKey | undefined
    }

/** The claim of the key that holds a digest and has to give it to a key that was appended earlier. */
export type DisplacedKey = Branded<string, 'DisplacedKey'>

/** The holder of a key, with how fresh the lists of its team are. */
export type Lookup =
  | { readonly found: KeyHolder; readonly freshness: Freshness }
  | { readonly found: null }
  | 'incomplete'
export type Applied = 'applied' | 'stale' | 'digest-held'
/** `held`: the id has a key already. */
type Reserved = 'reserved' | 'full' | 'held' | 'deleted'

/** Redis has lost account keys, and the indexer has not replayed them yet. */
export class AccountKeysIncomplete extends Error {
  constructor() {
    super('the account-key store is not complete')
    this.name = 'AccountKeysIncomplete'
  }
}

/**
 * The account keys in Redis, by which requests are authenticated. Kafka is their durable copy. Every write goes through one of the
 * scripts in accountKeyScripts.ts. The scripts compare revisions and positions, so records may be applied twice, late, in any order
 * and by several writers. Of the live keys that have one digest, revoked ones included, the first by position holds it; a look-up
 * never finds the others.
 */
export type AccountKeyStore = {
  /**
   * Looks a key up by its digest, and reads the freshness of its team's lists (see `readListVersions`). The same request checks that
   * the store is complete.
   */
  lookup(digest: Digest): Promise<Lookup>
  /** Applies one change, also to an incomplete store; null deletes for good. Without a position it comes after all that have one. */
  apply(teamId: TeamId, keyId: EntityId, key: StoredKey | null, position?: AppendPosition): Promise<Applied>
  /** Applies a record to a complete store only. It takes the digest from no other key than `mayDisplace`. */
  applyRecord(
    teamId: TeamId,
    keyId: EntityId,
    key: StoredKey | null,
    position: AppendPosition,
    mayDisplace?: DisplacedKey,
  ): Promise<ApplyRecordResult>
  /** Stores that a record of this key with this digest was appended at this position. */
  claim(claim: Claim): Promise<void>
  /**
   * Takes one of the team's slots until `untilMs`; applying the key's record makes it a lasting one, a deletion frees it. An id
   * that was reserved before keeps its slot.
   */
  reserve(teamId: TeamId, keyId: EntityId, nowMs: number, untilMs: number): Promise<Reserved>
  /** The team's keys, without slots that are only reserved and keys that do not hold their digest. */
  list(teamId: TeamId): Promise<StoredKey[]>
  wasDeleted(teamId: TeamId, keyId: EntityId): Promise<boolean>
  isComplete(): Promise<boolean>
  /** Starts a replay of all records under a token of its own. `complete` ends it; false when Redis lost keys meanwhile. */
  beginReplay(token: string): Promise<{ complete(): Promise<boolean> }>
}

/** A replay that takes longer starts again. */
const replayLifeMs = 3_600_000

const [partitionDigits, offsetDigits] = [10, 19]
const belowAllRevisions = 0
const anyDisplaced = '*'

/** The position of a record in its topic. */
export const appendPositionOf = (record: { appendedAtMs: number; partition: number; offset: bigint }): AppendPosition =>
  [
    toInstant(record.appendedAtMs),
    String(record.partition).padStart(partitionDigits, '0'),
    String(record.offset).padStart(offsetDigits, '0'),
  ].join('/') as AppendPosition

/** Where to find the record again. */
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
  isDeleted: z.boolean().default(false),
})
const reserveReply = z.enum(['reserved', 'full', 'held', 'deleted'])

const lookupScript = script(`${freshnessLua}
local read = redis.call('MGET', ARGV[1], ARGV[2])
if not read[2] then return read end
return {read[1], read[2], unpack(freshnessOf(cjson.decode(read[2]).teamId, 3))}`)
type LookupReply = readonly [complete: string | null, holder: string | null, ...FreshnessReply]

export function accountKeyStore(redis: RedisConnection, keys: RedisKeys): AccountKeyStore {
  const { client, runId } = redis
  const isComplete = async (): Promise<boolean> => isCurrent(await client.get(keys.accountKeysComplete), runId())
  const requireComplete = async (): Promise<void> => {
    if (!(await isComplete())) throw new AccountKeysIncomplete()
  }
  const applied = (change: Change, mayDisplace: string, run?: string): Promise<ApplyRecordResult> =>
    applyTo(client, keys, change, mayDisplace, run)
  return {
    isComplete,
    lookup: async (digest) => {
      const names = [keys.accountKeysComplete, keys.accountKey(digest), ...freshnessNames(keys)]
      const [complete, holder, ...read] = (await runScript(client, lookupScript, names)) as LookupReply
      if (!isCurrent(complete, runId())) return 'incomplete'
      if (holder === null) return { found: null }
      const found = JSON.parse(holder) as KeyHolder
      const freshness = lacksToken(read)
        ? await readListVersions(redis, keys, found.teamId, randomToken)
        : freshnessIn(read, runId())
      return { found, freshness }
    },
    apply: async (teamId, keyId, key, position = lastPosition as AppendPosition) => {
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
      const answer = await evaluate(client, reserveScript, names, [teamId, keyId, nowMs, untilMs, maxKeysPerTeam])
      return reserveReply.parse(answer)
    },
    list: async (teamId) => {
      await requireComplete()
      const entries = await evaluate(client, listScript, [keys.teamKeys(teamId), keys.accountKeyPrefix], [teamId])
      return z
        .array(z.string())
        .parse(entries)
        .map((text) => keyIn(JSON.parse(text) as Entry))
    },
    wasDeleted: async (teamId, keyId) => (await client.sismember(keys.deletedKeys(teamId), keyId)) === 1,
    beginReplay: async (token) => {
      const startedOn = runId()
      const replay = keys.accountKeyReplay(token)
      await client.set(replay, '1', 'PX', replayLifeMs)
      const complete = async (): Promise<boolean> => {
        if (startedOn === undefined || runId() !== startedOn) return false
        return (await evaluate(client, completeScript, [keys.accountKeysComplete, replay], [startedOn])) === 1
      }
      return { complete }
    },
  }
}

/** Applies a change; with `run` only when the store was completed in this run of Redis. */
async function applyTo(
  client: Redis,
  keys: RedisKeys,
  change: Change,
  mayDisplace: string,
  run: string | undefined,
): Promise<ApplyRecordResult> {
  const { teamId, keyId, revision, entry, digest, position } = change
  const names = [
    keys.teamKeysPrefix,
    keys.deletedKeys(teamId),
    keys.keyClaimsPrefix,
    keys.digestClaimsPrefix,
    keys.accountKeyPrefix,
    ...(run === undefined ? [] : [keys.accountKeysComplete]),
  ]
  const values = [teamId, keyId, revision, entry, digest, position, mayDisplace, run ?? '']
  return readApplyReply(String(await evaluate(client, applyScript, names, values)), position)
}

const isCurrent = (completeOn: string | null, runId: string | undefined): boolean =>
  completeOn !== null && completeOn === runId

/** What Redis holds of a key; see accountKeyScripts.ts. */
type Entry = {
  readonly revision: Revision
  readonly key: AccountKey
  readonly expiresAtMs: number | undefined
  readonly at: AppendPosition | undefined
}

const keyIn = ({ revision, key }: Entry): StoredKey => ({ ...key, revision })

/** One record as arguments of `applyScript`. */
type Change = Omit<Claim, 'digest'> & {
  readonly revision: number
  readonly entry: string
  readonly digest: Digest | ''
}

function changeOf(teamId: TeamId, keyId: EntityId, stored: StoredKey | null, position: AppendPosition): Change {
  if (stored === null) return { teamId, keyId, revision: deletedRevision, entry: '', digest: '', position }
  const { revision, ...key } = stored
  const expiresAtMs = key.expiresAt == null ? undefined : Date.parse(key.expiresAt)
  const at = position === lastPosition ? undefined : position
  const entry: Entry = { revision, key, expiresAtMs, at }
  return { teamId, keyId, revision, entry: JSON.stringify(entry), digest: key.digest, position }
}

function readApplyReply(text: string, position: AppendPosition): ApplyRecordResult {
  const { outcome, digest, claim, first, entry, isDeleted } = applyReply.parse(JSON.parse(text))
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
      return { kind: outcome, isDeleted, contested, newest: isLate ? keyIn(stored) : undefined }
    }
  }
}

function readClaim(text: string, digest: Digest): Claim {
  const [, position, teamId, keyId] = /^(\S+) ([^/]+)\/(.+)$/.exec(text) ?? []
  return { teamId: teamId as TeamId, keyId: keyId as EntityId, digest, position: position as AppendPosition }
}

const evaluate = (client: Redis, script: string, names: string[], values: (string | number)[]): Promise<unknown> =>
  client.eval(script, names.length, ...names, ...values)

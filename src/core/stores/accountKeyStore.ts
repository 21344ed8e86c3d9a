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

/** A key as the view holds it: the record's newest state and its revision. */
export type StoredKey = AccountKey & { readonly revision: Revision }

/** Where a record was appended, as text that sorts in the order of append time, partition and offset. */
export type Place = Branded<string, 'Place'>

/** Where the first record of a key with this digest was appended. */
export type Claim = {
  readonly teamId: TeamId
  readonly keyId: EntityId
  readonly digest: Digest
  readonly place: Place
}

/** What a record from the topic did, or why it did nothing yet. */
export type Verdict =
  | { readonly kind: 'incomplete' }
  /** The digest is held by a key that was appended later; `at` is the place of its newest record, if that is known. */
  | { readonly kind: 'displaces'; readonly holder: Displaced; readonly at: Place | undefined }
  | {
      readonly kind: Applied
      /** The first claim and this key's own, as far as their places are known, when several live keys have the digest. */
      readonly contested: readonly Claim[]
      /** The newest record of the key, when this one is older but was appended after it. */
      readonly newest: StoredKey | undefined
    }

/** The claim of a key that has to give its digest away. */
export type Displaced = Branded<string, 'Displaced'>

export type Lookup = { readonly found: KeyHolder | null } | 'incomplete'
export type Applied = 'applied' | 'stale' | 'digest-held'
/** `held`: the id has a key already. */
export type Reserved = 'reserved' | 'full' | 'held' | 'deleted'

/** The view cannot tell: Redis has lost what it knew, and the indexer has not folded the account keys again. */
export class AccountKeysIncomplete extends Error {
  constructor() {
    super('the key view is not complete')
    this.name = 'AccountKeysIncomplete'
  }
}

/**
 * The account keys in Redis: the live view that requests are judged by. Kafka holds the same for good. Every write goes
 * through one of the scripts in keyScripts.ts, which compare revisions and places, so that records may come twice, late, in any
 * order and from several writers. Of the live keys that have one digest, revoked ones included, the first by place holds it; the
 * others are known, but found by nobody.
 */
export type AccountKeyStore = {
  /** One look-up by digest, together with the proof that the view is whole. */
  lookup(digest: Digest): Promise<Lookup>
  /** Applies one change, whatever the view holds; null deletes for good. Without a place it comes after all that have one. */
  apply(teamId: TeamId, keyId: EntityId, key: StoredKey | null, place?: Place): Promise<Applied>
  /** Applies a record to a complete view only. Of other keys, it takes the digest from none but `mayDisplace`. */
  applyRecord(
    teamId: TeamId,
    keyId: EntityId,
    key: StoredKey | null,
    place: Place,
    mayDisplace?: Displaced,
  ): Promise<Verdict>
  /** Knows from now on that a record of this key with this digest was appended at this place. */
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
  /** Starts a fold of all records under a token of its own; `complete` says whether the view is whole now. */
  beginReplay(token: string): Promise<{ complete(): Promise<boolean> }>
}

/** A fold that takes longer starts again. */
const replayLifeMs = 3_600_000

/** After every other. */
const lastPlace = '9999-12-31T23:59:59.999Z/9999999999/9999999999999999999' as Place
const [partitionDigits, offsetDigits] = [10, 19]
const belowAllRevisions = 0
const anyDisplaced = '*'

/** The place of a record in its topic. */
export const placeOf = (record: { appendedAtMs: number; partition: number; offset: bigint }): Place =>
  [
    toInstant(record.appendedAtMs),
    String(record.partition).padStart(partitionDigits, '0'),
    String(record.offset).padStart(offsetDigits, '0'),
  ].join('/') as Place

/** Where to find the record again. */
export function positionOf(place: Place): { readonly partition: number; readonly offset: Offset } {
  const [, partition = '', offset = ''] = place.split('/')
  return { partition: Number(partition), offset: toOffset(offset) }
}

const verdictAnswer = z.object({
  outcome: z.enum(['incomplete', 'displaces', 'applied', 'stale', 'digest-held']),
  digest: z.string().optional(),
  claim: z.string().optional(),
  first: z.string().optional(),
  entry: z.string().optional(),
})
const reservedAnswer = z.enum(['reserved', 'full', 'held', 'deleted'])

export function accountKeyStore({ client, runId }: RedisConnection, keys: RedisKeys): AccountKeyStore {
  const isComplete = async (): Promise<boolean> => isCurrent(await client.get(keys.accountKeysComplete), runId())
  const demandComplete = async (): Promise<void> => {
    if (!(await isComplete())) throw new AccountKeysIncomplete()
  }
  const applied = async (change: Change, mayDisplace: string, run?: string): Promise<Verdict> => {
    const { teamId, keyId, revision, entry, digest, place } = change
    const names = [
      keys.teamKeysPrefix,
      keys.deletedKeys(teamId),
      keys.keyClaims(teamId),
      keys.digestClaimsPrefix,
      keys.accountKeyPrefix,
      ...(run === undefined ? [] : [keys.accountKeysComplete]),
    ]
    const values = [teamId, keyId, revision, entry, digest, place, mayDisplace, run ?? '']
    return readVerdict(String(await evaluate(client, applyScript, names, values)), place)
  }
  return {
    isComplete,
    lookup: async (digest) => {
      const [complete, holder] = await client.mget(keys.accountKeysComplete, keys.accountKey(digest))
      if (!isCurrent(complete ?? null, runId())) return 'incomplete'
      return { found: holder == null ? null : (JSON.parse(holder) as KeyHolder) }
    },
    apply: async (teamId, keyId, key, place = lastPlace) => {
      const { kind } = await applied(changeOf(teamId, keyId, key, place), anyDisplaced)
      if (kind === 'incomplete' || kind === 'displaces') throw new Error(`a change was answered with ${kind}`)
      return kind
    },
    applyRecord: async (teamId, keyId, key, place, mayDisplace) =>
      await applied(changeOf(teamId, keyId, key, place), mayDisplace ?? '', runId() ?? ''),
    claim: async (claim) => {
      await applied({ ...claim, revision: belowAllRevisions, entry: '' }, anyDisplaced)
    },
    reserve: async (teamId, keyId, nowMs, untilMs) => {
      await demandComplete()
      const names = [keys.teamKeys(teamId), keys.deletedKeys(teamId), keys.accountKeyPrefix]
      const answer = await evaluate(client, reserveScript, names, [keyId, nowMs, untilMs, maxKeysPerTeam])
      return reservedAnswer.parse(answer)
    },
    list: async (teamId) => {
      await demandComplete()
      const entries = await evaluate(client, listScript, [keys.teamKeys(teamId), keys.accountKeyPrefix], [])
      return z
        .array(z.string())
        .parse(entries)
        .map((text) => keyIn(JSON.parse(text) as Entry))
    },
    wasDeleted: async (teamId, keyId) => (await client.sismember(keys.deletedKeys(teamId), keyId)) === 1,
    beginReplay: async (token) => {
      const startedOn = runId()
      await client.set(keys.accountKeyReplay(token), '1', 'PX', replayLifeMs)
      return {
        complete: async () => {
          if (startedOn === undefined || runId() !== startedOn) return false
          const answer = await evaluate(
            client,
            completeScript,
            [keys.accountKeysComplete, keys.accountKeyReplay(token)],
            [startedOn],
          )
          return answer === 1
        },
      }
    },
  }
}

const isCurrent = (completeOn: string | null, runId: string | undefined): boolean =>
  completeOn !== null && completeOn === runId

/** What Redis holds of a key; see keyScripts.ts. */
type Entry = {
  readonly revision: Revision
  readonly key: AccountKey
  readonly holder: string
  readonly at: Place | undefined
}

const keyIn = ({ revision, key }: Entry): StoredKey => ({ ...key, revision })

/** What the script is told of one record. */
type Change = Omit<Claim, 'digest'> & {
  readonly revision: number
  readonly entry: string
  readonly digest: Digest | ''
}

function changeOf(teamId: TeamId, keyId: EntityId, stored: StoredKey | null, place: Place): Change {
  if (stored === null) return { teamId, keyId, revision: deletedRevision, entry: '', digest: '', place }
  const { revision, ...key } = stored
  const expiresAtMs = key.expiresAt == null ? null : Date.parse(key.expiresAt)
  const holder: KeyHolder = { teamId, keyId, state: key.state, expiresAtMs }
  const at = place === lastPlace ? undefined : place
  const entry: Entry = { revision, key, holder: JSON.stringify(holder), at }
  return { teamId, keyId, revision, entry: JSON.stringify(entry), digest: key.digest, place }
}

function readVerdict(text: string, place: Place): Verdict {
  const { outcome, digest, claim, first, entry } = verdictAnswer.parse(JSON.parse(text))
  const stored = entry === undefined ? undefined : (JSON.parse(entry) as Entry)
  switch (outcome) {
    case 'incomplete':
      return { kind: outcome }
    case 'displaces':
      return { kind: outcome, holder: (first ?? '') as Displaced, at: stored?.at }
    case 'applied':
    case 'stale':
    case 'digest-held': {
      const claims = [...new Set([first, claim])].flatMap((each) => (each === undefined ? [] : [each]))
      const contested = claims
        .map((each) => readClaim(each, digest as Digest))
        .filter(({ place }) => place !== lastPlace)
      const isLate = stored !== undefined && (stored.at ?? '') < place
      return { kind: outcome, contested, newest: isLate ? keyIn(stored) : undefined }
    }
  }
}

function readClaim(text: string, digest: Digest): Claim {
  const [, place, teamId, keyId] = /^(\S+) ([^/]+)\/(.+)$/.exec(text) ?? []
  return { teamId: teamId as TeamId, keyId: keyId as EntityId, digest, place: place as Place }
}

const evaluate = (client: Redis, script: string, names: string[], values: (string | number)[]): Promise<unknown> =>
  client.eval(script, names.length, ...names, ...values)

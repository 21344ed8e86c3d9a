import type { GenerationTag } from '../elasticsearch/indices.ts'
import type { Digest, DocumentId, EntityType, TeamId, TeamList } from '../model/ids.ts'

/** Type, lifetime, content and writer of every name in Redis. A "key" is an account key. A function called with `''` returns the prefix of its names. */
export interface RedisKeys {
  /** Hash, `<teamId>/<keyId>` → JSON: the live keys with this digest (accountKeyScripts.ts). `AccountKeyStore`. */
  readonly accountKey: (digest: Digest | '') => string
  /** Hash, key id → position and JSON: a team's live keys, reserved slots, and deletions whose record no indexer has read yet. `AccountKeyStore`. */
  readonly teamKeys: (teamId: TeamId | '') => string
  /** Hash, key id → position and JSON: deleted keys, which an older record must not bring back. `AccountKeyStore`. */
  readonly deletedKeys: (teamId: TeamId | '') => string
  /** String, 1 h: marks a replay; gone if Redis is flushed meanwhile. `AccountKeyStore`. */
  readonly accountKeyReplay: (token: string) => string
  /** Hash, key id → epoch ms, 90 d: the last use of each key. `shareLookups`. */
  readonly lastUse: (teamId: TeamId | '') => string
  /**
   * Hash, 25 h, one for each hour (`2026-11-21T10`), approximate counts: `requests/<key id>`, `refusals/<key id>` (429), `mistakes/<key id>` (400).
   * `countKeyUse`.
   */
  readonly keyUse: (hour: string, teamId: TeamId) => string
  /** Hash, 90 d, one for each key: when it last requested a change feed, and until when it has read every change. `countKeyUse`. */
  readonly feedUse: (key: DocumentId | '') => string
  /** String: random text, replaced once a change of the list is searchable. `publishVisiblePositions`, `freshnessLua`. */
  readonly changeToken: (list: TeamList | '') => string
  /** String, JSON, 15 min: the user of a session of the settings area, by SHA-256 of its id. src/settings/sessions.ts. */
  readonly session: (digest: string) => string
  /** String, 10 min: a used sign-in token, by SHA-256 of its `jti`. src/settings/signIn.ts. */
  readonly usedSignIn: (digest: string) => string
  /** Set: the contested digests. `AccountKeyStore`. */
  readonly contestedDigests: string
  /** String: the `runId` (redis.ts) into which every key was copied. `AccountKeyStore`. */
  readonly accountKeysComplete: string
  /**
   * Hash, 7 d, one for each entity type and generation. `publishVisiblePositions`, `switchServing`. Fields:
   * - `<partition>`: the offset below which every record is searchable
   * - `<partition>@`: a time (epoch ms); everything appended before it is below that offset
   * - `partitions`: their number
   * - `watermark`: the lowest time; missing while a partition has no offset or no time, or deletions may be missing
   * - `salt`: random text in the versions of all lists
   * - `index`, `details`: names of indices; missing until every partition has an offset
   * - `cursorKey`: the AES key that seals cursors
   * - `withheld`: `1` once deletions may be missing
   */
  readonly visiblePositions: (type: EntityType, generation: GenerationTag | '') => string
  /** Hash, 1 y, `<topic>/<partition>` → state of the log from which the generation was built. `storeLogStates`. */
  readonly readLogs: (generation: GenerationTag) => string
  /** String: the tag of the serving generation. `switchServing`, `setServing`. */
  readonly serving: string
  /** String, 10 s: the id of the rebuild that is about to switch. `acquireSwitchLock`. */
  readonly switchLock: string
  /** List, JSON, newest first, 400 d: the last 100 changes of a team's keys. `changeKeeper`. */
  readonly keyChanges: (teamId: TeamId) => string
  /** String, JSON, 6 s: the running rebuild, for its members. `announceRebuild`. */
  readonly announcedRebuild: string
  /** String, JSON, 7 d: how far the last rebuild has come; removed at its end. `storeRebuildProgress`. */
  readonly rebuildProgress: string
  /** Prefix of strings, 60 s: a key's requests in its rate-limit window. `countRequests`. */
  readonly limitPrefix: string
}

export const redisKeys = (prefix: string): RedisKeys => ({
  accountKey: (digest) => `${prefix}:account-key:${digest}`,
  teamKeys: (teamId) => `${prefix}:team-keys:${teamId}`,
  deletedKeys: (teamId) => `${prefix}:deleted-keys:${teamId}`,
  accountKeyReplay: (token) => `${prefix}:account-key-replay:${token}`,
  lastUse: (teamId) => `${prefix}:last-use:${teamId}`,
  keyUse: (hour, teamId) => `${prefix}:key-use:${hour}:${teamId}`,
  feedUse: (key) => `${prefix}:feed-use:${key}`,
  changeToken: (list) => `${prefix}:change-token:${list}`,
  session: (digest) => `${prefix}:session:${digest}`,
  usedSignIn: (digest) => `${prefix}:used-sign-in:${digest}`,
  contestedDigests: `${prefix}:contested-digests`,
  accountKeysComplete: `${prefix}:account-keys-complete`,
  visiblePositions: (type, generation) => `${prefix}:visible-positions:${type}:${generation}`,
  readLogs: (generation) => `${prefix}:read-logs:${generation}`,
  serving: `${prefix}:serving`,
  switchLock: `${prefix}:switch-lock`,
  keyChanges: (teamId) => `${prefix}:key-changes:${teamId}`,
  announcedRebuild: `${prefix}:announced-rebuild`,
  rebuildProgress: `${prefix}:rebuild-progress`,
  limitPrefix: `${prefix}:limit`,
})

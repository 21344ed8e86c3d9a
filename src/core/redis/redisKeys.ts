import type { GenerationTag } from '../elasticsearch/indices.ts'
import type { Digest, EntityId, EntityType, TeamId, TeamList } from '../model/ids.ts'

/**
 * Every key in Redis. A function that is called with `''` returns the prefix of all keys of its kind. Keys expire only if the table names a lifetime.
 *
 * | key | type | content | written by |
 * |---|---|---|---|
 * | `accountKey` | hash, `<teamId>/<keyId>` → JSON | the live keys with this digest, with state and expiry; a second field for a key with live records in two partitions, so that its digest opens nothing | `AccountKeyStore` (accountKeyStore.ts) |
 * | `teamKeys` | hash, key id → position and JSON | a team's live keys and reserved slots, and its deleted keys until an indexer has read the deletion | `AccountKeyStore` |
 * | `deletedKeys` | hash, key id → position and JSON | a team's deleted keys, so that an older record, if it is read later, does not bring a key back | `AccountKeyStore` |
 * | `contestedDigests` | set | digests that open nothing: `accountKey` has two fields or more | `AccountKeyStore` |
 * | `accountKeysComplete` | string | the run of Redis (`runId`) that got every account key; in another run, keys may be missing | `AccountKeyStore` |
 * | `accountKeyReplay` | string, 1 h | marks a running replay; without it, as after a flush of Redis, the replay does not count | `AccountKeyStore` |
 * | `lastUse` | hash, key id → epoch ms, 90 d | last use of each key of a team; the true one may be up to a minute later | `shareLookups` (keyLookups.ts) |
 * | `keyUse` | hash, 25 h, for each hour, `<what>/<key id>` → number | requests, refusals (429) and mistakes (400) of each key of a team, approximately | `countKeyUse` (keyUse.ts) |
 * | `feedUse` | hash, 90 d, for each key | when the key has asked for changes last, and until when it has them all | `countKeyUse` |
 * | `serving` | string | the tag of the generation whose indices, positions and list versions requests use | `switchServing` (switchServing.ts), `setServing` (serving.ts) |
 * | `visiblePositions` | hash, 7 d, for each entity type and generation | fields below | `publishVisiblePositions` (visiblePositions.ts), `switchServing` (switchServing.ts) |
 * | `readLogs` | hash, 1 y, for each generation | topic/partition → state of the log that the generation was read from | `keepReadLogs` (readLogs.ts) |
 * | `switchLock` | string, 10 s | the rebuild that is about to switch; meanwhile the serving generation publishes list versions only, no positions | `acquireSwitchLock` (serving.ts) |
 * | `changeToken` | string | random text in the version of a list, replaced once a change of the list is searchable | `publishVisiblePositions`; the first token `freshnessLua` (listVersions.ts) |
 * | `session` | string, JSON, 15 min | the user of a session of the settings area, under the SHA-256 of the session id | `Sessions` (src/settings/sessions.ts) |
 * | `usedSignIn` | string, 10 min | a sign-in token that was used, under the SHA-256 of its `jti` | `usedTokens` (src/settings/signIn.ts) |
 * | `keyChanges` | list, JSON, newest first, 400 d | the last 100 changes of a team's keys | `changeKeeper` (src/settings/recentChanges.ts) |
 * | `limit` prefix | string, 60 s | requests of a key in its rate-limit window | `countRequests` (countRequests.ts) |
 *
 * Fields of `visiblePositions`:
 * - `<partition>`: the offset below which every record is searchable
 * - `<partition>@`: a time (epoch ms); every record that was appended before is below that offset
 * - `partitions`: the number of partitions
 * - `watermark`: the lowest of these times; missing while a partition has no offset or no time, or deletions may be missing
 * - `salt`: random text in the versions of all lists
 * - `index`, `details`: the names of the indices; missing until every partition has an offset
 * - `cursorKey`: the key that seals the cursors of change feeds
 * - `withheld`: `1` once the generation may lack deletions, so that its change feeds are not served
 */
export interface RedisKeys {
  readonly accountKey: (digest: Digest | '') => string
  readonly teamKeys: (teamId: TeamId | '') => string
  readonly deletedKeys: (teamId: TeamId | '') => string
  readonly accountKeyReplay: (token: string) => string
  readonly lastUse: (teamId: TeamId | '') => string
  readonly keyUse: (hour: string, teamId: TeamId) => string
  readonly feedUse: (teamId: TeamId, keyId: EntityId) => string
  readonly changeToken: (list: TeamList | '') => string
  readonly session: (digest: string) => string
  readonly usedSignIn: (digest: string) => string
  readonly contestedDigests: string
  readonly accountKeysComplete: string
  readonly visiblePositions: (type: EntityType, generation: GenerationTag | '') => string
  readonly readLogs: (generation: GenerationTag) => string
  readonly serving: string
  readonly switchLock: string
  readonly keyChanges: (teamId: TeamId) => string
  readonly limitPrefix: string
}

/** `prefix`: INDEX_PREFIX of the installation. */
export const redisKeys = (prefix: string): RedisKeys => ({
  accountKey: (digest) => `${prefix}:account-key:${digest}`,
  teamKeys: (teamId) => `${prefix}:team-keys:${teamId}`,
  deletedKeys: (teamId) => `${prefix}:deleted-keys:${teamId}`,
  accountKeyReplay: (token) => `${prefix}:account-key-replay:${token}`,
  lastUse: (teamId) => `${prefix}:last-use:${teamId}`,
  keyUse: (hour, teamId) => `${prefix}:key-use:${hour}:${teamId}`,
  feedUse: (teamId, keyId) => `${prefix}:feed-use:${teamId}/${keyId}`,
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
  limitPrefix: `${prefix}:limit`,
})

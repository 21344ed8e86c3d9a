import type { GenerationTag } from '../elasticsearch/indices.ts'
import type { Digest, EntityType, TeamId, TeamList } from '../model/ids.ts'

/**
 * Every key in Redis. A function that is called with `''` returns the prefix of all keys of its kind. Keys expire only if the table names a lifetime.
 *
 * | key | type | content | written by |
 * |---|---|---|---|
 * | `accountKey` | hash, `<teamId>/<keyId>` → JSON | the live keys with this digest, each with its state and expiry | `AccountKeyStore` (accountKeyStore.ts) |
 * | `teamKeys` | hash, key id → position and JSON | a team's keys and reserved slots, and deletions that no indexer has read yet | `AccountKeyStore` |
 * | `deletedKeys` | hash, key id → position and JSON | a team's deleted keys, which no older record brings back | `AccountKeyStore` |
 * | `contestedDigests` | set | digests shared by several live keys | `AccountKeyStore` |
 * | `accountKeysComplete` | string | the run of Redis into which every account key was replayed | `AccountKeyStore` |
 * | `accountKeyReplay` | string, 1 h | a running replay; missing after Redis was flushed | `AccountKeyStore` |
 * | `lastUse` | hash, key id → epoch ms, 90 d | last use of each key of a team, at most a minute too early | `shareLookups` (keyLookups.ts) |
 * | `serving` | string | the tag of the generation whose positions and versions requests read | `switchServing` (switchServing.ts), `setServing` (serving.ts) |
 * | `visiblePositions` | hash, 7 d, for each entity type and generation | partition → offset below which everything is searchable; `<partition>@` → epoch ms: everything appended before is below that offset; `partitions`: their number; `watermark`: the lowest time, once all are known; `salt` of list versions; `index` and `details`, once all positions are known; `cursorKey`; `withheld`, once deletions may be missing | `publishVisiblePositions` (visiblePositions.ts), `switchServing` (switchServing.ts) |
 * | `readLogs` | hash, 1 y, for each generation | topic/partition → state of the log, as its indexer has read it | `keepReadLogs` (readLogs.ts) |
 * | `switchLock` | string, 10 s | the rebuild that is about to switch; meanwhile the serving generation publishes nothing | `acquireSwitchLock` (serving.ts) |
 * | `changeToken` | string | random text, replaced after every change of the list | `publishVisiblePositions`; the first token `freshnessLua` (listVersions.ts) |
 * | `session` | string, JSON, 15 min | the user of a session of the settings area, under the SHA-256 of the session id | `Sessions` (src/settings/sessions.ts) |
 * | `usedSignIn` | string, 10 min | a sign-in token that was used, under the SHA-256 of its `jti` | `usedTokens` (src/settings/signIn.ts) |
 * | `limit` prefix | string, 60 s | requests of a key in its rate-limit window | `countRequests` (countRequests.ts) |
 */
export interface RedisKeys {
  readonly accountKey: (digest: Digest | '') => string
  readonly teamKeys: (teamId: TeamId | '') => string
  readonly deletedKeys: (teamId: TeamId | '') => string
  readonly accountKeyReplay: (token: string) => string
  readonly lastUse: (teamId: TeamId | '') => string
  readonly changeToken: (list: TeamList | '') => string
  readonly session: (digest: string) => string
  readonly usedSignIn: (digest: string) => string
  readonly contestedDigests: string
  readonly accountKeysComplete: string
  readonly visiblePositions: (type: EntityType, generation: GenerationTag | '') => string
  readonly readLogs: (generation: GenerationTag) => string
  readonly serving: string
  readonly switchLock: string
  readonly limitPrefix: string
}

/** `prefix`: INDEX_PREFIX of the installation. */
export const redisKeys = (prefix: string): RedisKeys => ({
  accountKey: (digest) => `${prefix}:account-key:${digest}`,
  teamKeys: (teamId) => `${prefix}:team-keys:${teamId}`,
  deletedKeys: (teamId) => `${prefix}:deleted-keys:${teamId}`,
  accountKeyReplay: (token) => `${prefix}:account-key-replay:${token}`,
  lastUse: (teamId) => `${prefix}:last-use:${teamId}`,
  changeToken: (list) => `${prefix}:change-token:${list}`,
  session: (digest) => `${prefix}:session:${digest}`,
  usedSignIn: (digest) => `${prefix}:used-sign-in:${digest}`,
  contestedDigests: `${prefix}:contested-digests`,
  accountKeysComplete: `${prefix}:account-keys-complete`,
  visiblePositions: (type, generation) => `${prefix}:visible-positions:${type}:${generation}`,
  readLogs: (generation) => `${prefix}:read-logs:${generation}`,
  serving: `${prefix}:serving`,
  switchLock: `${prefix}:switch-lock`,
  limitPrefix: `${prefix}:limit`,
})

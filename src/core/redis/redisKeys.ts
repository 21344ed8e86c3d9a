import type { GenerationTag } from '../elasticsearch/indices.ts'
import type { Digest, EntityType, TeamId, TeamList } from '../model/ids.ts'

/**
 * Every key in Redis; with `''` for a name, what all keys of that kind begin with. Only those whose type names a lifetime expire.
 *
 * | key | type | holds | written by |
 * |---|---|---|---|
 * | `accountKey` | hash, `<teamId>/<keyId>` → JSON | the live keys with this digest, each with its state and expiry | `AccountKeyStore` (accountKeyStore.ts) |
 * | `teamKeys` | hash, key id → position and JSON | a team's keys and reserved slots, with deletions that no indexer has read | `AccountKeyStore` |
 * | `deletedKeys` | hash, key id → position and JSON | a team's deleted keys, which no older record brings back | `AccountKeyStore` |
 * | `contestedDigests` | set | digests shared by several live keys | `AccountKeyStore` |
 * | `accountKeysComplete` | string | run id of the Redis into which every account key was replayed | `AccountKeyStore` |
 * | `accountKeyReplay` | string, 1 h | a running replay; missing after Redis was flushed | `AccountKeyStore` |
 * | `lastUse` | hash, key id → epoch ms, 90 d | last use of each key of a team, at most a minute too early | `shareLookups` (keyLookups.ts) |
 * | `serving` | string | the tag of the generation whose positions and versions requests read | `switchServing` (switchServing.ts), `setServing` (serving.ts) |
 * | `visiblePositions` | hash, 7 d, for each entity type and generation | partition → offset below which everything is searchable, `<partition>@` → epoch ms before which everything appended is below that; the number of `partitions`, `watermark`: the lowest time, once all are known, `salt` of list versions, `index` and `details` once all positions are known, `cursorKey`; `withheld` once deletions may be missing | `publishVisiblePositions` (visiblePositions.ts), `switchServing` (switchServing.ts) |
 * | `readLogs` | hash, 1 y, for each generation | topic/partition → what the indexer that owns it has found in its log | `keepReadLogs` (readLogs.ts) |
 * | `switchLock` | string, 10 s | the rebuild that is about to switch; meanwhile nothing is published of the serving generation | `acquireSwitchLock` (serving.ts) |
 * | `changeToken` | string | random text, replaced after every change of the list | `publishVisiblePositions`; the first one `freshnessLua` (listVersions.ts) |
 * | `session` | string, JSON, 15 min | the user of a session of the settings area, under the SHA-256 of the session id | `Sessions` (src/settings/sessions.ts) |
 * | `usedSignIn` | string, for ten minutes | a sign-in token that was used, by the SHA-256 of its `jti` | `usedTokens` (src/settings/signIn.ts) |
 * | `limit` prefix | string, 60 s | requests of a key in its rate-limit window | `countRequests` (countRequests.ts) |
 */
export const redisKeys = (prefix: string) => ({
  accountKey: (digest: Digest | '') => `${prefix}:account-key:${digest}`,
  teamKeys: (teamId: TeamId | '') => `${prefix}:team-keys:${teamId}`,
  deletedKeys: (teamId: TeamId | '') => `${prefix}:deleted-keys:${teamId}`,
  accountKeyReplay: (token: string) => `${prefix}:account-key-replay:${token}`,
  lastUse: (teamId: TeamId | '') => `${prefix}:last-use:${teamId}`,
  changeToken: (list: TeamList | '') => `${prefix}:change-token:${list}`,
  session: (digest: string) => `${prefix}:session:${digest}`,
  usedSignIn: (digest: string) => `${prefix}:used-sign-in:${digest}`,
  contestedDigests: `${prefix}:contested-digests`,
  accountKeysComplete: `${prefix}:account-keys-complete`,
  visiblePositions: (type: EntityType, generation: GenerationTag | '') =>
    `${prefix}:visible-positions:${type}:${generation}`,
  readLogs: (generation: GenerationTag) => `${prefix}:read-logs:${generation}`,
  serving: `${prefix}:serving`,
  switchLock: `${prefix}:switch-lock`,
  limitPrefix: `${prefix}:limit`,
})

export type RedisKeys = Readonly<ReturnType<typeof redisKeys>>

import type { Digest, TeamId } from '../model/ids.ts'
import type { TeamList } from '../model/teamList.ts'

/**
 * Every key Tidemark keeps in Redis. Only those that say so have a time to live.
 *
 * | key | type | holds | written by |
 * |---|---|---|---|
 * | `accountKey` | string, JSON | whose a digest is, its state and expiry | `AccountKeyStore` (accountKeyStore.ts) |
 * | `teamKeys` | hash, key id → JSON | the keys of a team: the slots | `AccountKeyStore` |
 * | `keyClaims` | hash, key id → JSON | of each digest that a key of a team ever had, where its first record was appended | `AccountKeyStore` |
 * | `digestClaims` | sorted set | the live keys that have a digest now, in the order of these places | `AccountKeyStore` |
 * | `deletedKeys` | set of key ids | keys of a team that stay deleted, whatever arrives later | `AccountKeyStore` |
 * | `accountKeysComplete` | string | run id of the Redis that has folded every account key | `AccountKeyStore` |
 * | `accountKeyReplay` | string, 1 h | a fold under way; gone when Redis was flushed meanwhile | `AccountKeyStore` |
 * | `lastUse` | hash, key id → epoch ms, 90 d | the minute in which a key of a team was last used | `recordKeyUse` (lastUse.ts) |
 * | `tidemark` | hash | `generation` that promises, topic/partition → epoch ms, `published` by the Redis of id `run`, `floor` | `publishWatermark`, `setWatermarkGeneration` (watermark.ts) |
 * | `watermarkHold` | string, 10 s | who keeps the watermark where it is while a rebuild switches | `acquireWatermarkHold` (watermark.ts) |
 * | `changeToken` | string | random, another one after every change of a team's forms or submissions | `replaceChangeTokens` (changeTokens.ts); the first one `readListVersions` (freshness.ts) |
 * | `session` | string, JSON, 15 min | whom a session of the settings area belongs to, under the SHA-256 of its id | `Sessions` (src/settings/sessions.ts) |
 * | `usedSignIn` | string, until its token expires | a sign-in that was used, by the SHA-256 of its `jti` | `usedTokens` (src/settings/signIn/usedTokens.ts) |
 * | `limit` prefix | string, 60 s | requests of a key in its minute | the limiter (http/limit.ts) |
 */
export type RedisKeys = {
  accountKey(digest: Digest): string
  teamKeys(teamId: TeamId): string
  keyClaims(teamId: TeamId): string
  deletedKeys(teamId: TeamId): string
  accountKeyReplay(token: string): string
  lastUse(teamId: TeamId): string
  changeToken(list: TeamList): string
  session(digest: string): string
  usedSignIn(digest: string): string
  readonly accountKeyPrefix: string
  readonly teamKeysPrefix: string
  readonly digestClaimsPrefix: string
  readonly accountKeysComplete: string
  readonly watermark: string
  readonly watermarkHold: string
  readonly limitPrefix: string
}

export const redisKeys = (prefix: string): RedisKeys => ({
  accountKey: (digest) => `${prefix}:account-key:${digest}`,
  teamKeys: (teamId) => `${prefix}:team-keys:${teamId}`,
  keyClaims: (teamId) => `${prefix}:key-claims:${teamId}`,
  deletedKeys: (teamId) => `${prefix}:deleted-keys:${teamId}`,
  accountKeyReplay: (token) => `${prefix}:account-key-replay:${token}`,
  lastUse: (teamId) => `${prefix}:last-use:${teamId}`,
  changeToken: (list) => `${prefix}:change-token:${list}`,
  session: (digest) => `${prefix}:session:${digest}`,
  usedSignIn: (digest) => `${prefix}:used-sign-in:${digest}`,
  accountKeyPrefix: `${prefix}:account-key:`,
  teamKeysPrefix: `${prefix}:team-keys:`,
  digestClaimsPrefix: `${prefix}:digest-claims:`,
  accountKeysComplete: `${prefix}:account-keys-complete`,
  watermark: `${prefix}:watermark`,
  watermarkHold: `${prefix}:watermark-hold`,
  limitPrefix: `${prefix}:limit`,
})

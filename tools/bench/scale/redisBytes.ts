import { randomBytes } from 'node:crypto'
import { digestOf, plaintextFrom, startOf } from '../../../src/core/model/accountKey.ts'
import { type EntityId, type Revision, randomToken, type TeamId } from '../../../src/core/model/ids.ts'
import type { Instant } from '../../../src/core/model/instant.ts'
import { entityTypes, teamList } from '../../../src/core/model/teamList.ts'
import { accountKeyStore } from '../../../src/core/stores/accountKeyStore.ts'
import { recordKeyUse } from '../../../src/core/stores/keyLastUse.ts'
import { replaceChangeTokens } from '../../../src/core/stores/listVersions.ts'
import { connectRedis, type RedisConnection, readRedisMemory } from '../../../src/core/stores/redis.ts'
import { redisKeys } from '../../../src/core/stores/redisKeys.ts'
import { waitUntil } from '../../engines/waiting.ts'
import type { Stage } from '../stage.ts'

/** Bytes that Redis takes for each. */
export type RedisBytes = {
  readonly perKey: number
  readonly perKeyInUse: number
  readonly perTeam: number
}

const atOnce = 500
const connectDeadlineMs = 10_000
const limitSeconds = 60

/** Fills Redis with so many teams of one key each, as the indexer and the API do, and sees how it grows. */
export async function measureRedis({ urls, signal }: Stage, teams: number): Promise<RedisBytes> {
  const redis = connectRedis(urls.REDIS_URL, () => undefined)
  try {
    const isReady = async (): Promise<boolean> => redis.runId() !== undefined
    if (!(await waitUntil(isReady, { deadlineMs: connectDeadlineMs, signal }))) throw new Error('Redis does not answer')
    return await fill(redis, teams)
  } finally {
    await redis.close()
  }
}

async function fill(redis: RedisConnection, teams: number): Promise<RedisBytes> {
  const keys = redisKeys('sized')
  const view = accountKeyStore(redis, keys)
  const all = Array.from({ length: teams }, (_, index) => ({
    teamId: `team_${String(index).padStart(8, '0')}` as TeamId,
    keyId: `key_${randomToken()}` as EntityId,
  }))
  const grown = async (work: (one: (typeof all)[number]) => Promise<unknown>): Promise<number> => {
    const { usedBytes: before } = await readRedisMemory(redis)
    for (let at = 0; at < all.length; at += atOnce) await Promise.all(all.slice(at, at + atOnce).map(work))
    return ((await readRedisMemory(redis)).usedBytes - before) / teams
  }
  const createdAt = new Date().toISOString() as Instant
  const perKey = await grown(({ teamId, keyId }) => {
    const plaintext = plaintextFrom(randomBytes(32))
    return view.apply(teamId, keyId, {
      id: keyId,
      name: 'Nightly export',
      digest: digestOf(plaintext),
      start: startOf(plaintext),
      state: 'active',
      createdAt,
      createdBy: 'owner@team.example',
      expiresAt: null,
      revision: 1 as Revision,
    })
  })
  const perKeyInUse = await grown(async ({ teamId, keyId }) => {
    await recordKeyUse(redis, keys, teamId, keyId, Date.now())
    await redis.client.set(`${keys.limitPrefix}:${teamId}/${keyId}`, 1, 'EX', limitSeconds)
  })
  const perTeam = await grown(({ teamId }) =>
    replaceChangeTokens(
      redis,
      keys,
      entityTypes.map((type) => teamList(type, teamId)),
      randomToken,
    ),
  )
  return { perKey, perKeyInUse, perTeam }
}

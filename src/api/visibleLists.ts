import { LRUCache } from 'lru-cache'
import type { EntityType, TeamId } from '../core/model/ids.ts'
import type { Freshness } from '../core/redis/listVersions.ts'
import { readVisibleList, type VisibleList } from '../core/redis/readVisiblePositions.ts'
import { fromRedis, type RedisConnection } from '../core/redis/redis.ts'
import type { CursorKey } from '../core/redis/visiblePositions.ts'
import { type CursorKeyId, keyIdOf } from './changeCursor.ts'

/**
 * Reads the visible positions of lists (all records below them are searchable) for the change feeds. Caches the keys by which cursors are encrypted, so
 * that "nothing new" is answered without a further round trip to Redis.
 */
export type VisibleLists = {
  /** A key that this process has read, maybe of indices that a rebuild has replaced since. Undefined if it has not read this key. */
  cachedKey(id: CursorKeyId): CursorKey | undefined
  /**
   * `visible` is undefined while no indices serve, a partition of the topic has no visible position, or deletions may be missing: then no change feed can
   * be served. Rejects with `RedisUnavailable`.
   */
  read(
    type: EntityType,
    teamId: TeamId,
  ): Promise<{ readonly freshness: Freshness; readonly visible: VisibleList | undefined }>
}

/** Few are in use: two for all teams, one for forms and one for submissions, until a rebuild. */
const maxKeys = 100

export function createVisibleLists(redis: RedisConnection): VisibleLists {
  const keys = new LRUCache<CursorKeyId, CursorKey>({ max: maxKeys })
  return {
    cachedKey: (id) => keys.get(id),
    read: async (type, teamId) => {
      const list = await fromRedis(readVisibleList(redis, type, teamId))
      const key = list.visible?.cursorKey
      if (key !== undefined) keys.set(keyIdOf(key), key)
      return list
    },
  }
}

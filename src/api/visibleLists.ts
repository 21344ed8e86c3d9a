import { LRUCache } from 'lru-cache'
import type { EntityType, TeamId } from '../core/model/ids.ts'
import type { Freshness } from '../core/redis/listVersions.ts'
import { readVisibleList, type VisibleList } from '../core/redis/readVisiblePositions.ts'
import { fromRedis, type RedisConnection } from '../core/redis/redis.ts'
import type { CursorKey } from '../core/redis/visiblePositions.ts'
import { type CursorKeyId, keyIdOf } from './changeCursor.ts'

/** Caches the keys of cursors, so that "nothing new" is answered without a further round trip to Redis. */
export type VisibleLists = {
  /** Maybe of indices that a rebuild has replaced since. Undefined if this process has not read the key. */
  cachedKey(id: CursorKeyId): CursorKey | undefined
  /**
   * `visible` is undefined while no indices serve, a partition has no visible position, or deletions may be missing. Rejects with `RedisUnavailable`.
   */
  read(
    type: EntityType,
    teamId: TeamId,
  ): Promise<{ readonly freshness: Freshness; readonly visible: VisibleList | undefined }>
}

/** Two are in use, for forms and submissions of all teams, until a rebuild. */
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

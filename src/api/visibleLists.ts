import { LRUCache } from 'lru-cache'
import type { EntityType, TeamId } from '../core/model/ids.ts'
import type { Freshness } from '../core/redis/listVersions.ts'
import { readVisibleList, type VisibleList } from '../core/redis/readVisiblePositions.ts'
import { fromRedis, type RedisConnection } from '../core/redis/redis.ts'
import type { CursorKey } from '../core/redis/visiblePositions.ts'
import { type CursorKeyId, keyIdOf } from './changeCursor.ts'

/** Reads teams' lists with their visible positions. Caches cursor keys, so that "nothing new" is answered without a further round trip to Redis. */
export type VisibleLists = {
  /** A key that this process has read, maybe of a former generation. */
  cachedKey(id: CursorKeyId): CursorKey | undefined
  /** See `readVisibleList`. Rejects with `RedisUnavailable`. */
  read(
    type: EntityType,
    teamId: TeamId,
  ): Promise<{ readonly freshness: Freshness; readonly visible: VisibleList | undefined }>
}

/** A generation has two cursor keys, one for each entity type. */
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

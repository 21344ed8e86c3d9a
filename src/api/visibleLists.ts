import { LRUCache } from 'lru-cache'
import type { EntityType, TeamId } from '../core/model/ids.ts'
import { readVisibleList } from '../core/redis/readVisiblePositions.ts'
import { fromRedis, type RedisConnection } from '../core/redis/redis.ts'
import type { CursorKey } from '../core/redis/visiblePositions.ts'
import { type CursorKeyId, keyIdOf } from './changeCursor.ts'

/** Reads what is visible of lists. Remembers cursor keys, so that "nothing new" is answered without another question to Redis. */
export type VisibleLists = {
  /** The key that this process has read under an id, also one of a former generation. */
  knownKey(id: CursorKeyId): CursorKey | undefined
  /** See `readVisibleList`. Rejects with `RedisUnavailable`. */
  read(type: EntityType, teamId: TeamId): ReturnType<typeof readVisibleList>
}

/** Two for each generation. */
const maxKeys = 100

export function createVisibleLists(redis: RedisConnection): VisibleLists {
  const keys = new LRUCache<CursorKeyId, CursorKey>({ max: maxKeys })
  return {
    knownKey: (id) => keys.get(id),
    read: async (type, teamId) => {
      const read = await fromRedis(readVisibleList(redis, type, teamId))
      const key = read.visible?.cursorKey
      if (key !== undefined) keys.set(keyIdOf(key), key)
      return read
    },
  }
}

import type { TeamId } from '../../src/core/model/ids.ts'
import type { Freshness } from '../../src/core/redis/listVersions.ts'
import { readVisibleList } from '../../src/core/redis/readVisiblePositions.ts'
import type { RedisConnection } from '../../src/core/redis/redis.ts'

/** The watermark and the versions of a team's lists, as a request reads them. */
export const readFreshness = async (
  redis: RedisConnection,
  teamId: TeamId,
  newToken: () => string,
): Promise<Freshness> => (await readVisibleList(redis, 'forms', teamId, newToken)).freshness

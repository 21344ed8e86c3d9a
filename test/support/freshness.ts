import type { TeamId } from '../../src/core/model/ids.ts'
import type { Freshness } from '../../src/core/stores/listVersions.ts'
import { readVisibleList } from '../../src/core/stores/readVisiblePositions.ts'
import type { RedisConnection } from '../../src/core/stores/redis.ts'

/** The watermark and the versions of a team's lists, as a request reads them. */
export const readFreshness = async (
  redis: RedisConnection,
  teamId: TeamId,
  newToken: () => string,
): Promise<Freshness> => (await readVisibleList(redis, 'forms', teamId, newToken)).freshness

import { type DocumentId, type EntityId, entityIdOf, type TeamId, teamIdOf } from '../model/ids.ts'
import type { Instant } from '../model/instant.ts'
import { type FeedRead, feedsIn } from './readKeyUse.ts'
import type { RedisConnection } from './redis.ts'
import { scanHashes } from './scanHashes.ts'

export type Follower = FeedRead & { readonly teamId: TeamId; readonly keyId: EntityId }

export type Followers = {
  /** How many keys have read a change feed since the given time. */
  readonly keys: number
  /** False if there may be more: the bound or `signal` ended the count. */
  readonly isComplete: boolean
  /** First those that have never read to the end. */
  readonly slowest: readonly Follower[]
}

const maxKeys = 100_000
const sortFrom = 1_000

/** Costs a pass over all names in Redis: call it rarely. Ends, with what it has found, when `signal` aborts. */
export async function readFollowers(
  redis: RedisConnection,
  askedSince: Instant,
  maxSlowest: number,
  signal: AbortSignal,
): Promise<Followers> {
  const keys = new Set<string>()
  let slowest: Follower[] = []
  const sort = (): void => {
    slowest = slowest.sort(byReadTo).slice(0, maxSlowest)
  }
  for await (const [name, fields] of scanHashes(redis, redis.keys.feedUse(''), signal)) {
    const feeds = feedsIn(fields).filter(({ askedAt }) => askedAt >= askedSince)
    // A scan may return a name twice.
    if (feeds.length === 0 || keys.has(name)) continue
    keys.add(name)
    const id = name as DocumentId
    slowest.push(...feeds.map((feed) => ({ ...feed, teamId: teamIdOf(id), keyId: entityIdOf(id) })))
    if (slowest.length >= sortFrom) sort()
    if (keys.size === maxKeys) break
  }
  sort()
  return { keys: keys.size, isComplete: keys.size < maxKeys && !signal.aborted, slowest }
}

const byReadTo = (a: Follower, b: Follower): number =>
  compare(a.readTo ?? '', b.readTo ?? '') || compare(a.askedAt, b.askedAt)

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b))

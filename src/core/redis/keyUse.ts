import { type DocumentId, documentId, type EntityType, entityIdOf, teamIdOf } from '../model/ids.ts'
import { type Instant, toInstant } from '../model/instant.ts'
import type { FoundKey } from './keyLookups.ts'
import type { RedisConnection } from './redis.ts'

/** All requests of a key, those answered 429, and those answered 400. */
export const countedUses = ['requests', 'refusals', 'mistakes'] as const
type CountedUse = (typeof countedUses)[number]

export type UseCounts = Readonly<Record<CountedUse, number>>

/** For the settings area and the status page. No request waits for this or fails with it. */
export interface KeyUse {
  count(key: UsedKey, status: number): void
  /** `readTo`: the key has read every change until then; undefined if the answer stated no time. */
  noteFeed(key: UsedKey, type: EntityType, readTo: Instant | undefined): void
  /** Adds to Redis what was counted since the last call. Never rejects. */
  share(): Promise<void>
}

type UsedKey = Pick<FoundKey, 'teamId' | 'keyId'>
type FeedUse = { readonly askedAtMs: number; readonly readTo: Instant | undefined }
type Uses = Record<CountedUse, number> & { readonly feeds: Map<EntityType, FeedUse> }

/** Beyond this many between two `share`s, keys are not counted. */
const maxKeys = 10_000
/** In one round trip, for which other commands of this process wait. */
const keysAtOnce = 64
/** `share` runs this long after the first counted use, less up to `jitterMs`: processes started together must not write together. */
const shareAfterMs = 60_000
const jitterMs = 10_000
/** At 12:15, the settings area shows the last day from yesterday's hour 12 on. */
const hourLifeSeconds = 25 * 3_600
const feedLifeSeconds = 90 * 86_400

/**
 * Counts in memory, and adds to Redis once a minute while keys are used. A minute is lost if the process is killed or Redis does not answer: it is not sent
 * again, because Redis may have added it before it failed.
 */
export function countKeyUse(redis: RedisConnection, nowMs: () => number, random: () => number): KeyUse {
  let used = new Map<DocumentId, Uses>()
  let timer: NodeJS.Timeout | undefined

  /** Undefined for a new key beyond `maxKeys`. */
  const usesOf = ({ teamId, keyId }: UsedKey): Uses | undefined => {
    const id = documentId(teamId, keyId)
    const known = used.get(id)
    if (known !== undefined || used.size >= maxKeys) return known
    const uses = { requests: 0, refusals: 0, mistakes: 0, feeds: new Map() }
    used.set(id, uses)
    timer ??= setTimeout(() => void share(), shareAfterMs - jitterMs * random()).unref()
    return uses
  }

  const share = async (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    const all = [...used]
    used = new Map()
    const hour = hourOf(nowMs())
    try {
      for (let at = 0; at < all.length; at += keysAtOnce)
        await Promise.all(all.slice(at, at + keysAtOnce).map(([id, uses]) => send(redis, id, hour, uses)))
    } catch {
      // This minute is lost.
    }
  }

  return {
    count: (key, status) => {
      const uses = usesOf(key)
      if (uses === undefined) return
      uses.requests++
      if (status === 429) uses.refusals++
      if (status === 400) uses.mistakes++
    },
    noteFeed: (key, type, readTo) => {
      const feeds = usesOf(key)?.feeds
      const earlier = feeds?.get(type)
      feeds?.set(type, { askedAtMs: nowMs(), readTo: readTo ?? earlier?.readTo })
    },
    share,
  }
}

async function send({ client, keys }: RedisConnection, id: DocumentId, hour: string, uses: Uses): Promise<void> {
  const [teamId, keyId] = [teamIdOf(id), entityIdOf(id)]
  const name = keys.keyUse(hour, teamId)
  const counts = countedUses.filter((what) => uses[what] > 0)
  const sent: Promise<unknown>[] = counts.map((what) => client.hincrby(name, `${what}/${keyId}`, uses[what]))
  if (counts.length > 0) sent.push(client.expire(name, hourLifeSeconds))
  const feeds = [...uses.feeds].flatMap(([type, { askedAtMs, readTo }]) => [
    ...[`asked/${type}`, toInstant(askedAtMs)],
    ...(readTo === undefined ? [] : [`read/${type}`, readTo]),
  ])
  const feedName = keys.feedUse(id)
  if (feeds.length > 0) sent.push(client.hset(feedName, ...feeds), client.expire(feedName, feedLifeSeconds))
  await Promise.all(sent)
}

/** Such as `2026-11-21T10` (UTC); Redis has one hash for each. */
export const hourOf = (epochMs: number): string => toInstant(epochMs).slice(0, '2026-11-21T10'.length)

import { type DocumentId, documentId, type EntityType, entityIdOf, teamIdOf } from '../model/ids.ts'
import { type Instant, toInstant } from '../model/instant.ts'
import type { FoundKey } from './keyLookups.ts'
import type { RedisConnection } from './redis.ts'

/** The numbers of a key that are counted: all its requests, those of them that were answered 429, and those that were answered 400. */
export const countedUses = ['requests', 'refusals', 'mistakes'] as const
type CountedUse = (typeof countedUses)[number]

/** How often a key was used in some time. */
export type UseCounts = Readonly<Record<CountedUse, number>>

/** Counts what keys are used for, for the settings area and the status page. Nothing waits for it, or fails with it. */
export interface KeyUse {
  /** Counts a request of a key that was accepted. `status`: of its answer. */
  count(key: UsedKey, status: number): void
  /** Notes that a key has read a change feed. `readTo`: every change until this time was answered; undefined if this answer does not tell. */
  noteFeed(key: UsedKey, type: EntityType, readTo: Instant | undefined): void
  /** Adds what was counted since the last time to Redis. Never rejects. */
  share(): Promise<void>
}

type UsedKey = Pick<FoundKey, 'teamId' | 'keyId'>
type FeedUse = { readonly askedAtMs: number; readonly readTo: Instant | undefined }
type Uses = Record<CountedUse, number> & { readonly feeds: Map<EntityType, FeedUse> }

/** The most keys whose use is counted between two times of sharing; other keys are not counted. */
const maxKeys = 10_000
/** How many keys are shared in one round trip: other commands of this process wait for it. */
const keysAtOnce = 64
/** What was counted is shared after this time, less up to `jitterMs`, so that processes which were started together do not share together. */
const shareAfterMs = 60_000
const jitterMs = 10_000
/** Longer than the day that the settings area shows: it needs a part of the hour that began 24 to 25 hours ago. */
const hourLifeSeconds = 25 * 3_600
const feedLifeSeconds = 90 * 86_400

/**
 * Counts the use of keys in memory, and adds it to Redis once a minute while keys are used. The numbers are approximate: those of the last minute are
 * lost if the process is killed, or if Redis does not answer. They are not sent again, because Redis may have added them before it failed.
 */
export function countKeyUse(redis: RedisConnection, nowMs: () => number, random: () => number): KeyUse {
  let used = new Map<DocumentId, Uses>()
  let timer: NodeJS.Timeout | undefined

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
      // Redis is away: the numbers of this minute are lost.
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
      feeds?.set(type, { askedAtMs: nowMs(), readTo: readTo ?? feeds.get(type)?.readTo })
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

/** The hour (UTC) of a time, `2026-11-21T10`, by which the counts of keys are stored. */
export const hourOf = (epochMs: number): string => toInstant(epochMs).slice(0, '2026-11-21T10'.length)

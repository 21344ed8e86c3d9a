import { documentId, type EntityId, type EntityType, entityTypes, type TeamId } from '../model/ids.ts'
import type { Instant } from '../model/instant.ts'
import { countedUses, hourOf, type UseCounts } from './keyUse.ts'
import type { RedisConnection } from './redis.ts'

/** In the last 90 days. `readTo`: the key has read every change until then; null if no answer has stated a time. */
export type FeedRead = { readonly type: EntityType; readonly askedAt: Instant; readonly readTo: Instant | null }

/** Approximate. */
export type ReadKeyUse = {
  readonly lastHour: UseCounts
  readonly lastDay: UseCounts
  readonly feeds: readonly FeedRead[]
}

const hourMs = 3_600_000
const hoursOfDay = 24

/** Costs one round trip. */
export async function readKeyUse(
  { client, keys }: RedisConnection,
  teamId: TeamId,
  keyIds: readonly EntityId[],
  nowMs: number,
): Promise<ReadonlyMap<EntityId, ReadKeyUse>> {
  const hours = Array.from({ length: hoursOfDay + 1 }, (_, ago) => hourOf(nowMs - ago * hourMs))
  const [countsOfHours, feedsOfKeys] = await Promise.all([
    Promise.all(hours.map((hour) => client.hgetall(keys.keyUse(hour, teamId)))),
    Promise.all(keyIds.map((keyId) => client.hgetall(keys.feedUse(documentId(teamId, keyId))))),
  ])
  return new Map(
    keyIds.map((keyId, at) => {
      const byHour = countsOfHours.map((fields): UseCounts => {
        const [requests = 0, refusals = 0, mistakes = 0] = countedUses.map((what) =>
          Number(fields[`${what}/${keyId}`] ?? 0),
        )
        return { requests, refusals, mistakes }
      })
      const lastHour = sumOfLast(1, byHour, nowMs)
      const lastDay = sumOfLast(hoursOfDay, byHour, nowMs)
      return [keyId, { lastHour, lastDay, feeds: feedsIn(feedsOfKeys[at] ?? {}) }]
    }),
  )
}

/**
 * `byHour`: the counts of the present hour of the clock, of the one before it, … At 12:15, the counts of the last hour are those since 12:00, and three
 * quarters of those of 11:00 to 12:00.
 */
export function sumOfLast(hours: number, byHour: readonly UseCounts[], nowMs: number): UseCounts {
  const partOfOldest = 1 - (nowMs % hourMs) / hourMs
  const sumOf = (what: keyof UseCounts): number => {
    const whole = byHour.slice(0, hours).reduce((sum, counts) => sum + counts[what], 0)
    return whole + Math.round((byHour[hours]?.[what] ?? 0) * partOfOldest)
  }
  return { requests: sumOf('requests'), refusals: sumOf('refusals'), mistakes: sumOf('mistakes') }
}

/** `fields`: of the hash `feedUse`. */
export const feedsIn = (fields: Readonly<Record<string, string>>): FeedRead[] =>
  entityTypes.flatMap((type) => {
    const askedAt = fields[`asked/${type}`]
    if (askedAt === undefined) return []
    return [{ type, askedAt: askedAt as Instant, readTo: (fields[`read/${type}`] ?? null) as Instant | null }]
  })

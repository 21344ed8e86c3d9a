import type { RedisConnection } from './redis.ts'

/** `prepare` removes what earlier rebuilds have left, `remove` the old generation. */
export const rebuildPhases = ['prepare', 'fill', 'compare', 'switch', 'remove'] as const
export type RebuildPhase = (typeof rebuildPhases)[number]

/** `done` records or documents of `total` in this phase, and how many a second of late; null where unknown. */
export type RebuildProgress = {
  /** Null before the new generation exists. */
  readonly generation: number | null
  readonly phase: RebuildPhase
  readonly done: number | null
  readonly total: number | null
  readonly perSecond: number | null
}

/** `ageMs`: by the clock of Redis. */
export type ReportedRebuild = RebuildProgress & { readonly ageMs: number }

/** As long as positions of its generation are stored. */
const lifeMs = 7 * 86_400_000

export async function storeRebuildProgress(
  { client, keys }: RedisConnection,
  progress: RebuildProgress,
): Promise<void> {
  await client.set(keys.rebuildProgress, JSON.stringify(progress), 'PX', lifeMs)
}

export async function forgetRebuildProgress({ client, keys }: RedisConnection): Promise<void> {
  await client.del(keys.rebuildProgress)
}

/** Undefined if no rebuild has stored progress since the last one ended. */
export async function readRebuildProgress({ client, keys }: RedisConnection): Promise<ReportedRebuild | undefined> {
  const [text, leftMs] = await Promise.all([client.get(keys.rebuildProgress), client.pttl(keys.rebuildProgress)])
  return text === null ? undefined : { ...(JSON.parse(text) as RebuildProgress), ageMs: Math.max(0, lifeMs - leftMs) }
}

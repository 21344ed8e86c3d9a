import type { GenerationTag } from '../elasticsearch/indices.ts'
import { type RedisConnection, script } from './redis.ts'

/* A rebuild announces its generation in Redis, so that its members (rebuildMembers.ts) can help to fill it. */

/** `holder`: the id of the rebuild, a part of the names of its write aliases. */
export type AnnouncedRebuild = { readonly tag: GenerationTag; readonly holder: string }

/** Lasts `lifeMs`; replaces the announcement of another rebuild. */
export async function announceRebuild(
  { client, keys }: RedisConnection,
  rebuild: AnnouncedRebuild,
  lifeMs: number,
): Promise<void> {
  await client.set(keys.announcedRebuild, textOf(rebuild), 'PX', lifeMs)
}

/** Undefined if none is announced, or Redis has lost it. */
export async function readAnnouncedRebuild({ client, keys }: RedisConnection): Promise<AnnouncedRebuild | undefined> {
  const text = await client.get(keys.announcedRebuild)
  return text === null ? undefined : (JSON.parse(text) as AnnouncedRebuild)
}

const withdrawScript = script(`if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end return 1`)

/** The announcement of a later rebuild stays. */
export async function withdrawRebuild(redis: RedisConnection, rebuild: AnnouncedRebuild): Promise<void> {
  await withdrawScript(redis, [redis.keys.announcedRebuild], [textOf(rebuild)])
}

const textOf = ({ tag, holder }: AnnouncedRebuild): string => JSON.stringify({ tag, holder })

import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { Instant } from '../core/model/instant.ts'
import type { EntityType } from '../core/model/teamList.ts'
import { namesEtag } from '../core/process/ifNoneMatch.ts'
import type { ListVersion } from '../core/stores/listVersions.ts'
import type { RouteContext } from './context.ts'
import { ndjson } from './exports.ts'
import { fromRedis, RequestError } from './requestError.ts'

/** What an answer is made of. */
export type Asked = {
  readonly type: EntityType
  /** Everything beside the team that decides what is answered: the parameters as they were understood. */
  readonly parameters: Readonly<Record<string, unknown>>
  /** Windows on the time of change are only whole up to a watermark. */
  readonly needsWatermark?: boolean
  /** Whether there is an answer whatever is stored: a list may be empty, an entity may be missing. */
  readonly alwaysExists: boolean
  /** JSON, or lines of it. `version` is the list's, read before; null while none is known. */
  query(version: ListVersion | null): Promise<Buffer | Readable>
}

/** Part of every ETag: another one when the same data would be rendered in another way. */
const format = 1
const tagBytes = 16

/**
 * Answers a request from the replica and says how fresh the answer is, or that nothing has changed. The watermark and the version
 * are read before the query: the answer may hold more than they promise, never less.
 */
export async function respondConditionally(
  ctx: RouteContext,
  { type, parameters, needsWatermark = false, alwaysExists, query }: Asked,
): Promise<void> {
  const { watermark, versions } = await fromRedis(ctx.state.freshness)
  const version = versions[type]
  if (watermark === null && needsWatermark)
    throw new RequestError({
      kind: 'service_unavailable',
      lacks: 'watermark',
      cause: new Error('there is no tidemark'),
    })
  const ifNoneMatch = ctx.get('If-None-Match')
  const isAnyEnough = ifNoneMatch.trim() === '*'
  const etag = version === null ? undefined : etagOf(version, ctx.path, parameters)
  const isKept = etag !== undefined && namesEtag(ifNoneMatch, etag)
  if (isKept && (alwaysExists || !isAnyEnough)) return notChanged(ctx, etag, watermark)
  const body = await query(version)
  if (isKept) return notChanged(ctx, etag, watermark)
  setFreshness(ctx, etag, watermark)
  ctx.type = Buffer.isBuffer(body) ? 'json' : ndjson
  ctx.body = body
}

/** Weak: the same answer may come compressed or not. */
export function etagOf(version: ListVersion, path: string, parameters: Readonly<Record<string, unknown>>): string {
  const text = JSON.stringify([format, version, path, Object.entries(parameters).sort(([a], [b]) => (a < b ? -1 : 1))])
  const digest = createHash('sha256').update(text).digest().subarray(0, tagBytes)
  return `W/"${digest.toString('base64url')}"`
}

function setFreshness(ctx: RouteContext, etag: string | undefined, watermark: Instant | null): void {
  if (etag !== undefined) ctx.set('ETag', etag)
  if (watermark !== null) ctx.set('Replica-Watermark', watermark)
}

function notChanged(ctx: RouteContext, etag: string, watermark: Instant | null): void {
  setFreshness(ctx, etag, watermark)
  ctx.status = 304
}

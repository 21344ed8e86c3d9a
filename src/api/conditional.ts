import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { Instant } from '../core/model/instant.ts'
import type { EntityType } from '../core/model/teamList.ts'
import { namesEtag } from '../core/process/ifNoneMatch.ts'
import type { ListVersion } from '../core/stores/listVersions.ts'
import type { Answer } from './answerCache.ts'
import type { ApiMiddleware, RouteContext } from './context.ts'
import { ndjson } from './exports.ts'

/** The `Cache-Control` of answers to one team. */
export const privateCacheControl = 'private, no-cache'

/** The `Vary` of answers to one team: the request headers on which an answer depends. */
export const varyHeader = 'Authorization, Accept, Accept-Encoding'

/** Keeps shared caches from storing what one team may read, and from serving it to another key. */
export const privateCaching: ApiMiddleware = (ctx, next) => {
  ctx.set('Cache-Control', privateCacheControl)
  ctx.set('Vary', varyHeader)
  return next()
}

/**
 * How fresh an answer is. Validators are read before the query, so the answer may hold more than they promise, never less.
 * `version` and `etag` are missing while the list's version is unknown, `watermark` while none is published.
 */
export type Validators = {
  readonly version: ListVersion | null
  readonly etag: string | undefined
  /** Whether Elasticsearch shows just what the version stands for. */
  readonly isSettled: boolean
  readonly watermark: Instant | null
}

/** The validators of an answer made from entities of one type. `parameters` are all that select it, apart from team and path. */
export function validatorsOf(
  ctx: RouteContext,
  type: EntityType,
  parameters: Readonly<Record<string, unknown>>,
): Validators {
  const { watermark, versions, settled } = ctx.state.freshness
  const version = versions[type]
  const etag = version === null ? undefined : etagOf(version, ctx.path, parameters)
  return { version, etag, isSettled: settled[type], watermark }
}

/** Part of every ETag. Increase it when the same data is rendered in another way. */
const renderingVersion = 1
/** 132 bits of the digest. */
const etagCharacters = 22

/** A weak ETag: the same answer may be sent compressed or not. */
function etagOf(version: ListVersion, path: string, parameters: Readonly<Record<string, unknown>>): string {
  const sorted = Object.entries(parameters).sort(([a], [b]) => (a < b ? -1 : 1))
  const text = JSON.stringify([renderingVersion, version, path, sorted])
  return `W/"${hash('sha256', text, 'base64url').slice(0, etagCharacters)}"`
}

/** Whether `If-None-Match` names the current ETag. */
export const isNotModified = (ctx: RouteContext, { etag }: Validators): boolean =>
  etag !== undefined && namesEtag(ctx.get('If-None-Match'), etag)

/** Whether `If-None-Match` is `*`, which matches only what exists. An entity must be read to know that; a list always exists. */
export const matchesAny = (ctx: RouteContext): boolean => ctx.get('If-None-Match').trim() === '*'

/** Answers 304. */
export function sendNotModified(ctx: RouteContext, validators: Validators): void {
  setValidators(ctx, validators)
  ctx.status = 304
}

/** Sends JSON, or NDJSON as a stream, with its validators; 304 if the client holds the answer already. */
export function send(ctx: RouteContext, validators: Validators, body: Answer | Readable): void {
  if (isNotModified(ctx, validators)) {
    sendNotModified(ctx, validators)
    return
  }
  setValidators(ctx, validators)
  if (body instanceof Readable) {
    ctx.type = ndjson
    ctx.body = body
    return
  }
  ctx.type = 'json'
  if (body.compression !== undefined) ctx.set('Content-Encoding', body.compression)
  ctx.body = body.body
}

function setValidators(ctx: RouteContext, { etag, watermark }: Validators): void {
  if (etag !== undefined) ctx.set('ETag', etag)
  if (watermark !== null) ctx.set('Replica-Watermark', watermark)
}

import { hash } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { Instant } from '../core/model/instant.ts'
import type { EntityType } from '../core/model/teamList.ts'
import { namesEtag } from '../core/process/ifNoneMatch.ts'
import type { ListVersion } from '../core/stores/listVersions.ts'
import type { Answer } from './answerCache.ts'
import type { ApiMiddleware, RouteContext } from './context.ts'

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

/**
 * The validators of an answer made from entities of one type, and of other ones. `parameters` are all that select it, apart from team
 * and path.
 */
export function validatorsOf(
  ctx: RouteContext,
  type: EntityType,
  parameters: Readonly<Record<string, unknown>>,
  otherTypes: readonly EntityType[] = [],
): Validators {
  const { watermark, versions, settled } = ctx.state.freshness
  const version = versions[type]
  const all = [version, ...otherTypes.map((other) => versions[other])]
  const etag = all.includes(null) ? undefined : etagOf(all, ctx.path, parameters)
  const isSettled = [type, ...otherTypes].every((each) => settled[each])
  return { version, etag, isSettled, watermark }
}

/** Part of every ETag. Increase it when the same data is rendered in another way. */
const renderingVersion = 1
/** 132 bits of the digest. */
const etagCharacters = 22

/**
 * A weak ETag: the same answer may be sent compressed or not. That of a list by time of change ends with where its window begins, so that
 * an answer can be told to hold another one that begins later.
 */
function etagOf(
  versions: readonly (ListVersion | null)[],
  path: string,
  { changedSince, ...parameters }: Readonly<Record<string, unknown>>,
): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined)
  const sorted = given.sort(([a], [b]) => (a < b ? -1 : 1))
  const text = JSON.stringify([renderingVersion, versions, path, sorted])
  const digest = hash('sha256', text, 'base64url').slice(0, etagCharacters)
  return changedSince === undefined ? `W/"${digest}"` : `W/"${digest}/${String(changedSince)}"`
}

/**
 * Whether an answer that `If-None-Match` names holds everything that a list by time of change holds now: it was made of the same version, of
 * the same selection, and of a window that began no later.
 */
export function holdsWindow(ctx: RouteContext, { etag }: Pick<Validators, 'etag'>): boolean {
  if (etag === undefined) return false
  const [digest, begin = ''] = partsOf(etag)
  const named = ctx.get('If-None-Match').split(',').map(partsOf)
  return matchesAny(ctx) || named.some(([of, from]) => of === digest && from !== undefined && from <= begin)
}

/** The digest of an ETag, and where the window begins of which it tells. */
const partsOf = (etag: string): readonly (string | undefined)[] =>
  etag.trim().replace(/^W\//, '').replaceAll('"', '').split('/')

/** Whether `If-None-Match` names the current ETag. */
export const holdsVersion = (ctx: RouteContext, { etag }: Pick<Validators, 'etag'>): boolean =>
  etag !== undefined && namesEtag(ctx.get('If-None-Match'), etag)

/**
 * Whether the client holds what it asks for. While a change may be visible before its list has another version, only Elasticsearch
 * knows: otherwise a client could see the change in one answer, and be told in the next that nothing has changed.
 */
export const isNotModified = (ctx: RouteContext, validators: Validators): boolean =>
  holdsVersion(ctx, validators) && (validators.isSettled || matchesAny(ctx))

/** Whether `If-None-Match` is `*`, which matches only what exists. An entity must be read to know that; a list always exists. */
export const matchesAny = (ctx: RouteContext): boolean => ctx.get('If-None-Match').trim() === '*'

/** Answers 304. */
export function sendNotModified(ctx: RouteContext, validators: Validators): void {
  setValidators(ctx, validators)
  ctx.status = 304
}

/** Sends JSON with its validators; 304 if the client holds the answer already. */
export function send(ctx: RouteContext, validators: Validators, answer: Answer | 'not-modified'): void {
  if (answer === 'not-modified' || isNotModified(ctx, validators)) {
    sendNotModified(ctx, validators)
    return
  }
  setValidators(ctx, validators)
  ctx.type = 'json'
  if (answer.compression !== undefined) ctx.set('Content-Encoding', answer.compression)
  ctx.body = answer.body
}

/** Sends an export with its validators. */
export function sendExport(ctx: RouteContext, validators: Validators, contentType: string, stream: Readable): void {
  setValidators(ctx, validators)
  ctx.type = contentType
  ctx.body = stream
}

function setValidators(ctx: RouteContext, { etag, watermark }: Validators): void {
  if (etag !== undefined) ctx.set('ETag', etag)
  if (watermark !== null) ctx.set('Replica-Watermark', watermark)
}

import { hash } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { Instant } from '../core/model/instant.ts'
import type { EntityType } from '../core/model/teamList.ts'
import { namesEtag } from '../core/process/staticFile.ts'
import type { ListVersion } from '../core/stores/listVersions.ts'
import type { Answer, AnswerCache, Rendered } from './answerCache.ts'
import { type Compression, compressed, compressionFor, isWorthCompressing } from './compression.ts'
import type { ApiMiddleware, RouteContext } from './context.ts'
import type { PageRequest } from './search/page.ts'
import { ElasticsearchUnavailable } from './search/searchClient.ts'

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

/**
 * The answer to a request, kept or made by `make`, compressed as the client wants. A kept answer was made from the version of the list
 * that Redis has just confirmed, so it holds all that the watermark promises. While a change may be visible before its list
 * has another version, Elasticsearch is asked: otherwise a client could see the change in one answer and miss it in the next.
 * If Elasticsearch cannot answer, nobody sees that change any more: then a client that holds an answer of this version is told so, and
 * another one is served the kept answer. Who has seen the change just before is led back by that, though not below the watermark.
 */
export async function keptOrMade(
  ctx: RouteContext,
  answers: AnswerCache,
  { etag, isSettled }: Pick<Validators, 'etag' | 'isSettled'>,
  make: () => Promise<Rendered>,
): Promise<Answer | 'not-modified'> {
  const compression = compressionFor(ctx)
  const makeAnswer = async (): Promise<Answer> => compressedAs(await make(), compression)
  if (etag === undefined) return await makeAnswer()
  const name = `${ctx.state.holder.teamId} ${etag} ${compression ?? 'identity'}`
  if (isSettled) return answers.get(name) ?? (await answers.make(name, makeAnswer, () => isGone(ctx)))
  try {
    return await makeAnswer()
  } catch (error) {
    if (!(error instanceof ElasticsearchUnavailable)) throw error
    const kept = holdsVersion(ctx, { etag }) ? 'not-modified' : answers.get(name)
    if (kept === undefined) throw error
    return kept
  }
}

async function compressedAs(rendered: Rendered, compression: Compression | undefined): Promise<Answer> {
  return compression === undefined || !isWorthCompressing(rendered.body)
    ? { ...rendered, compression: undefined }
    : { ...rendered, body: await compressed(rendered.body, compression), compression }
}

/** Whether the client has disconnected before it was answered. */
const isGone = (ctx: RouteContext): boolean => ctx.res.closed && !ctx.res.writableFinished

/** Node's HTTP clients accept 16 KiB of headers. */
const maxLinkBytes = 4_096

/**
 * The `Link` of a page (RFC 8288): `first`, `prev`, `next` and `last` page with the query as it was sent, apart from `page`. There is no
 * `prev` on the first page and no `next` on the last one; `prev` of a page past the end is the last one. Undefined if it takes more
 * than 4 KiB. `url` is the public URL of the list, without a query.
 */
export function pageLinks(
  url: string,
  querystring: string,
  { page, limit }: PageRequest,
  totalDocs: number,
): string | undefined {
  // Without this question mark, URLSearchParams would strip one that the query itself begins with.
  const query = new URLSearchParams(`?${querystring}`)
  const linkTo = (relation: string, number: number): string => {
    query.set('page', String(number))
    return `<${url}?${query}>; rel="${relation}"`
  }
  const last = Math.max(1, Math.ceil(totalDocs / limit))
  const links = [
    linkTo('first', 1),
    ...(page > 1 ? [linkTo('prev', Math.min(page - 1, last))] : []),
    ...(page < last ? [linkTo('next', page + 1)] : []),
    linkTo('last', last),
  ].join(', ')
  return links.length > maxLinkBytes ? undefined : links
}

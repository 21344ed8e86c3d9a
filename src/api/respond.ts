import type { Readable } from 'node:stream'
import { type Answer, type AnswerCache, cachedOrMade, type Rendered } from './answerCache.ts'
import { compressedStream, compressionFor } from './compression.ts'
import type { RouteContext } from './context.ts'
import { holdsVersion, matchesAny, type Validators } from './etag.ts'
import { LargePage } from './search/searchPage.ts'

/** An answer that is sent part by part; of a page with the total of its list. */
type Streamed = { readonly body: Readable; readonly contentType: string; readonly totalDocs?: number }
type Sent = (Answer | Streamed) & { readonly contentType?: string; readonly compression: string | undefined }

/** How an answer is made: as a whole, which may be kept; in parts, if there is no other way, or if the whole would be a `LargePage`. */
export type Making = {
  /** Whether the answer exists is known only once it is read. */
  readonly mayBeMissing?: boolean
  /** The `Link` of a page. It is not cached with the answer, which serves all queries that differ in ignored parameters. */
  linkOf?(totalDocs: number): string | undefined
} & (
  | { readonly whole: () => Promise<Rendered>; readonly parts?: () => Promise<Streamed> }
  | { readonly whole?: undefined; readonly parts: () => Promise<Streamed> }
)

/** Answers a request: 304 if the client holds the answer, else one that is kept, else one that is made. */
export async function respond(
  ctx: RouteContext,
  answers: AnswerCache,
  validators: Validators,
  making: Making,
): Promise<void> {
  const { etag, watermark } = validators
  const isUnchanged = isNotModified(ctx, validators)
  const mustRead = making.mayBeMissing === true && matchesAny(ctx)
  const answer = isUnchanged && !mustRead ? 'not-modified' : await keptOrStreamed(ctx, answers, validators, making)
  if (etag !== undefined) ctx.set('ETag', etag)
  if (watermark !== null) ctx.set('Replica-Watermark', watermark)
  if (answer === 'not-modified' || isUnchanged) {
    ctx.status = 304
    return
  }
  ctx.type = answer.contentType ?? 'json'
  if (answer.compression !== undefined) ctx.set('Content-Encoding', answer.compression)
  ctx.body = answer.body
  const link = making.linkOf?.(answer.totalDocs ?? 0)
  if (link !== undefined) ctx.set('Link', link)
}

/**
 * Whether the client holds what it asks for. While a change may be visible before its list has another version, only Elasticsearch
 * knows: otherwise a client could see the change in one answer, and be told in the next that nothing has changed.
 */
const isNotModified = (ctx: RouteContext, { etag, isSettled }: Validators): boolean =>
  holdsVersion(ctx, etag) && (isSettled || matchesAny(ctx))

async function keptOrStreamed(
  ctx: RouteContext,
  answers: AnswerCache,
  validators: Validators,
  { whole, parts }: Making,
): Promise<Sent | 'not-modified'> {
  if (whole === undefined) return await streamed(ctx, parts)
  try {
    return await cachedOrMade(ctx, answers, validators, whole)
  } catch (error) {
    if (parts === undefined || !(error instanceof LargePage)) throw error
    return await streamed(ctx, parts)
  }
}

async function streamed(ctx: RouteContext, parts: () => Promise<Streamed>): Promise<Sent> {
  const compression = compressionFor(ctx)
  const answer = await parts()
  return { ...answer, compression, ...(compression && { body: compressedStream(answer.body, compression) }) }
}

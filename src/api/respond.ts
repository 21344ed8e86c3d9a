import type { Readable } from 'node:stream'
import type { Answer, AnswerCache, RenderedAnswer } from './answerCache.ts'
import { compressed, compressedStream, compressionFor } from './compression.ts'
import type { RouteContext } from './context.ts'
import { clientHasAnswer, matchesAny, type Validators } from './etag.ts'
import { PageTooLarge } from './search/searchPage.ts'

type StreamedAnswer = { readonly body: Readable; readonly contentType: string; readonly totalDocs?: number }
type ReadyAnswer = (Answer | StreamedAnswer) & {
  readonly contentType?: string
  readonly compression: string | undefined
}

type MakeWhole = () => Promise<RenderedAnswer>
type StartParts = () => Promise<StreamedAnswer>

/**
 * Only whole answers are cached. `startParts` is called if `makeWhole` rejects with `PageTooLarge`. With `mayBeMissing`, `makeWhole` may reject with
 * `not_found`.
 */
export type AnswerMaker =
  | { readonly kind: 'whole'; readonly makeWhole: MakeWhole; readonly mayBeMissing: boolean }
  | { readonly kind: 'whole or parts'; readonly makeWhole: MakeWhole; readonly startParts: StartParts }
  | { readonly kind: 'parts'; readonly startParts: StartParts }

/** Resolves before the answer is sent, with the `totalDocs` of a page; with undefined for 304 and all other answers. */
export async function respond(
  ctx: RouteContext,
  answers: AnswerCache,
  validators: Validators,
  maker: AnswerMaker,
): Promise<number | undefined> {
  if (clientHasAnswer(ctx, validators.etag)) {
    // `answerOf` throws `not_found` for an entity that does not exist.
    if (maker.kind === 'whole' && maker.mayBeMissing && matchesAny(ctx)) await answerOf(ctx, answers, validators, maker)
    setValidators(ctx, validators)
    ctx.status = 304
    return undefined
  }
  const answer = await answerOf(ctx, answers, validators, maker)
  // A whole answer, also from the cache, stays in memory until this client has read it.
  if (Buffer.isBuffer(answer.body) && ctx.method !== 'HEAD') await ctx.state.turns.reserve(answer.body.length)
  setValidators(ctx, validators)
  ctx.type = answer.contentType ?? 'json'
  if (answer.compression !== undefined) ctx.set('Content-Encoding', answer.compression)
  ctx.body = answer.body
  return answer.totalDocs
}

function setValidators(ctx: RouteContext, { etag, watermark }: Validators): void {
  if (etag !== undefined) ctx.set('ETag', etag)
  if (watermark !== null) ctx.set('Replica-Watermark', watermark)
}

async function answerOf(
  ctx: RouteContext,
  answers: AnswerCache,
  validators: Validators,
  maker: AnswerMaker,
): Promise<ReadyAnswer> {
  switch (maker.kind) {
    case 'whole':
      return await cachedOrMade(ctx, answers, validators, maker.makeWhole)
    case 'parts':
      return await startedStream(ctx, maker.startParts)
    case 'whole or parts':
      try {
        return await cachedOrMade(ctx, answers, validators, maker.makeWhole)
      } catch (error) {
        if (!(error instanceof PageTooLarge)) throw error
        return await startedStream(ctx, maker.startParts)
      }
  }
}

async function startedStream(ctx: RouteContext, startParts: StartParts): Promise<ReadyAnswer> {
  const compression = compressionFor(ctx)
  const answer = await startParts()
  return { ...answer, compression, ...(compression && { body: compressedStream(answer.body, compression) }) }
}

/**
 * The cache key contains the ETag, and so the list version that this request has just read. So a cached answer has every change before the watermark.
 * It may lack a later change, which another client has already got:
 *
 * 1. An indexer's refresh shows revision 7.
 * 2. Client A, whose answer is not cached, gets revision 7.
 * 3. Client B gets a cached answer with revision 6.
 * 4. The indexer replaces the version: requests from now on get revision 7.
 */
async function cachedOrMade(
  ctx: RouteContext,
  answers: AnswerCache,
  { etag }: Pick<Validators, 'etag'>,
  make: MakeWhole,
): Promise<Answer> {
  const compression = compressionFor(ctx)
  const makeAnswer = async (): Promise<Answer> => {
    const rendered = await make()
    return { ...rendered, ...(await compressed(rendered.body, compression)) }
  }
  if (etag === undefined) return await makeAnswer()
  const key = `${ctx.state.accountKey.teamId} ${etag} ${compression ?? 'identity'}`
  const hasDisconnected = (): boolean => ctx.res.closed && !ctx.res.writableFinished
  return answers.get(key) ?? (await answers.make(key, makeAnswer, hasDisconnected))
}

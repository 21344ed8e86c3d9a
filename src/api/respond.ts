import type { Readable } from 'node:stream'
import type { Answer, AnswerCache, Rendered } from './answerCache.ts'
import { compressed, compressedStream, compressionFor } from './compression.ts'
import type { RouteContext } from './context.ts'
import { holdsVersion, matchesAny, type Validators } from './etag.ts'
import { LargePage } from './search/searchPage.ts'

type Streamed = { readonly body: Readable; readonly contentType: string; readonly totalDocs?: number }
type Sent = (Answer | Streamed) & { readonly contentType?: string; readonly compression: string | undefined }

/** `whole` may be cached; `parts` are streamed. With both, `parts` is called if `whole` rejects with `LargePage`. */
export type Making = {
  readonly mayBeMissing?: boolean
  /** Not cached, because queries that differ in ignored parameters share one cached answer. */
  linkOf?(totalDocs: number): string | undefined
} & (
  | { readonly whole: () => Promise<Rendered>; readonly parts?: () => Promise<Streamed> }
  | { readonly whole?: undefined; readonly parts: () => Promise<Streamed> }
)

/** Answers 304 if the client has the current answer, else from the cache, else with a new answer. */
export async function respond(ctx: RouteContext, answers: AnswerCache, validators: Validators, making: Making) {
  if (holdsVersion(ctx, validators.etag)) {
    // `*` does not match an entity that does not exist: `answerOf` throws `not_found`.
    if (making.mayBeMissing === true && matchesAny(ctx)) await answerOf(ctx, answers, validators, making)
    setValidators(ctx, validators)
    ctx.status = 304
    return
  }
  const answer = await answerOf(ctx, answers, validators, making)
  // A cached or shared answer, too, stays in memory until this client has read it. So it counts among its team's unsent bytes.
  if (Buffer.isBuffer(answer.body) && ctx.method !== 'HEAD') await ctx.state.holdAnswer(answer.body.length)
  setValidators(ctx, validators)
  ctx.type = answer.contentType ?? 'json'
  if (answer.compression !== undefined) ctx.set('Content-Encoding', answer.compression)
  ctx.body = answer.body
  const link = making.linkOf?.(answer.totalDocs ?? 0)
  if (link !== undefined) ctx.set('Link', link)
}

function setValidators(ctx: RouteContext, { etag, watermark }: Validators): void {
  if (etag !== undefined) ctx.set('ETag', etag)
  if (watermark !== null) ctx.set('Replica-Watermark', watermark)
}

async function answerOf(
  ctx: RouteContext,
  answers: AnswerCache,
  validators: Validators,
  { whole, parts }: Making,
): Promise<Sent> {
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

/**
 * A cached answer was made for the list version that Redis has just confirmed, so it has every change before the watermark. It may lack a later
 * change:
 *
 * 1. An indexer's refresh shows revision 7.
 * 2. Client A, whose answer is not cached, gets revision 7.
 * 3. Client B gets a cached answer with revision 6.
 * 4. The indexer replaces the version.
 */
async function cachedOrMade(
  ctx: RouteContext,
  answers: AnswerCache,
  { etag }: Pick<Validators, 'etag'>,
  make: () => Promise<Rendered>,
): Promise<Answer> {
  const compression = compressionFor(ctx)
  const makeAnswer = async (): Promise<Answer> => {
    const rendered = await make()
    return { ...rendered, ...(await compressed(rendered.body, compression)) }
  }
  if (etag === undefined) return await makeAnswer()
  const key = `${ctx.state.holder.teamId} ${etag} ${compression ?? 'identity'}`
  const hasDisconnected = (): boolean => ctx.res.closed && !ctx.res.writableFinished
  return answers.get(key) ?? (await answers.make(key, makeAnswer, hasDisconnected))
}

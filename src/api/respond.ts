import type { Readable } from 'node:stream'
import type { Answer, AnswerCache, Rendered } from './answerCache.ts'
import { compressed, compressedStream, compressionFor } from './compression.ts'
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
export async function respond(ctx: RouteContext, answers: AnswerCache, validators: Validators, making: Making) {
  const { etag, watermark } = validators
  const isUnchanged = holdsVersion(ctx, etag)
  const mustRead = making.mayBeMissing === true && matchesAny(ctx)
  const answer: Sent | 'not-modified' =
    isUnchanged && !mustRead ? 'not-modified' : await answerOf(ctx, answers, validators, making)
  // Also an answer from the cache, or one that another request has made: it stays in memory as long as its own client reads it.
  if (answer !== 'not-modified' && !isUnchanged && Buffer.isBuffer(answer.body) && ctx.method !== 'HEAD')
    await ctx.state.holdAnswer(answer.body.length)
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

async function answerOf(ctx: RouteContext, answers: AnswerCache, validators: Validators, { whole, parts }: Making) {
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
 * The answer to a request, kept or made by `make`, compressed as the client wants. A kept answer was made from the version of the list
 * that Redis has just confirmed, so it holds all that the watermark promises. A change that is visible before its list has another version may
 * be missing in it.
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
  const name = `${ctx.state.holder.teamId} ${etag} ${compression ?? 'identity'}`
  const isGone = (): boolean => ctx.res.closed && !ctx.res.writableFinished
  return answers.get(name) ?? (await answers.make(name, makeAnswer, isGone))
}

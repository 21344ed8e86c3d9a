import type { Answer, AnswerCache, Rendered } from './answerCache.ts'
import { type Compression, compressed, compressionFor, isWorthCompressing } from './compression.ts'
import { holdsVersion, type Validators } from './conditional.ts'
import type { RouteContext } from './context.ts'
import { ElasticsearchUnavailable } from './search/searchClient.ts'

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

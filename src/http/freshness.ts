import type { Instant } from '../domain/instant.ts'
import type { RouteContext } from './context.ts'
import { withinDeadline } from './deadline.ts'
import { fromRedis, RequestFailure } from './failure.ts'

/**
 * Answers a request from the replica and says how fresh the answer is. The tidemark is read before the query, so the promise
 * "everything appended before this instant is in the answer" holds whatever arrives meanwhile.
 */
export type AnswerFresh = (
  ctx: RouteContext,
  query: (signal: AbortSignal) => Promise<string>,
  tidemark?: 'needed',
) => Promise<void>

export const freshAnswers =
  (readTidemark: () => Promise<Instant | null>): AnswerFresh =>
  async (ctx, query, tidemark) => {
    const watermark = await fromRedis(readTidemark())
    // A window on the time of change is only whole up to a tidemark.
    if (watermark === null && tidemark === 'needed')
      throw new RequestFailure({ kind: 'service_unavailable', cause: new Error('there is no tidemark') })
    const body = await withinDeadline(ctx.res, query)
    if (watermark !== null) ctx.set('Replica-Watermark', watermark)
    ctx.type = 'json'
    ctx.body = body
  }

import { z } from 'zod'
import { getRecord } from './search/getRecord.ts'
import type { RouteMiddleware } from './context.ts'
import { RequestFailure } from './requestError.ts'
import { answerFresh } from './conditional.ts'
import type { RouteNeeds } from './routes.ts'

export const getRecordParameters = z.object({})

/** GET /api/v1/records/{id} */
export const getRecordRoute =
  ({ replica, readParameters }: RouteNeeds): RouteMiddleware =>
  async (ctx) => {
    const parameters = readParameters(ctx, getRecordParameters)
    const read = async (signal: AbortSignal): Promise<Buffer> => {
      const record = await getRecord(replica, ctx.state.holder.teamId, ctx.params['id'] ?? '', signal)
      if (record === undefined) throw new RequestFailure({ kind: 'not_found', what: 'record' })
      return record
    }
    await answerFresh(ctx, {
      type: 'submissions',
      parameters,
      alwaysExists: false,
      query: () => ctx.state.lookUp(read),
    })
  }

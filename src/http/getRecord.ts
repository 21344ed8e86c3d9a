import { z } from 'zod'
import { getRecord } from '../queries/getRecord.ts'
import type { RouteMiddleware } from './context.ts'
import { RequestFailure } from './failure.ts'
import type { RouteNeeds } from './routes.ts'

export const getRecordParameters = z.object({})

/** GET /api/v1/records/{id} */
export const getRecordRoute =
  ({ replica, readParameters, answerFresh }: RouteNeeds): RouteMiddleware =>
  async (ctx) => {
    readParameters(ctx, getRecordParameters)
    await answerFresh(ctx, async (signal) => {
      const record = await getRecord(replica, ctx.state.holder.teamId, ctx.params['id'] ?? '', signal)
      if (record === undefined) throw new RequestFailure({ kind: 'not_found', what: 'record' })
      return record
    })
  }

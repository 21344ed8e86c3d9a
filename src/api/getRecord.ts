import { z } from 'zod'
import { respondConditionally } from './conditional.ts'
import type { RouteMiddleware } from './context.ts'
import { RequestError } from './requestError.ts'
import type { RouteDeps } from './routeDeps.ts'
import { getRecord } from './search/getRecord.ts'

export const getRecordParameters = z.object({})

/** GET /api/v1/records/{id} */
export const getRecordRoute =
  ({ replica, readParameters }: RouteDeps): RouteMiddleware =>
  async (ctx) => {
    const parameters = readParameters(ctx, getRecordParameters)
    const read = async (signal: AbortSignal): Promise<Buffer> => {
      const record = await getRecord(replica, ctx.state.holder.teamId, ctx.params['id'] ?? '', signal)
      if (record === undefined) throw new RequestError({ kind: 'not_found', what: 'record' })
      return record
    }
    await respondConditionally(ctx, {
      type: 'submissions',
      parameters,
      alwaysExists: false,
      query: () => ctx.state.runQuery(read),
    })
  }

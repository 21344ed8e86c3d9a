import { z } from 'zod'
import { respondConditionally } from './conditional.ts'
import type { RouteMiddleware } from './context.ts'
import { flag } from './parameterSchemas.ts'
import { RequestError } from './requestError.ts'
import type { RouteDeps } from './routeDeps.ts'
import { getForm } from './search/getForm.ts'

export const getFormParameters = z.object({
  includeFields: flag.describe('`false` leaves out `fields`.'),
  includeReport: flag.describe('`false` leaves out `report`.'),
})

/** GET /api/v1/forms/{id} */
export const getFormRoute =
  ({ replica, readParameters }: RouteDeps): RouteMiddleware =>
  async (ctx) => {
    const parameters = readParameters(ctx, getFormParameters)
    const read = async (signal: AbortSignal): Promise<Buffer> => {
      const form = await getForm(replica, ctx.state.holder.teamId, ctx.params['id'] ?? '', parameters, signal)
      if (form === undefined) throw new RequestError({ kind: 'not_found', what: 'form' })
      return form
    }
    await respondConditionally(ctx, {
      type: 'forms',
      parameters,
      alwaysExists: false,
      query: () => ctx.state.runQuery(read),
    })
  }

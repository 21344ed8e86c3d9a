import { z } from 'zod'
import { getForm } from './search/getForm.ts'
import type { RouteMiddleware } from './context.ts'
import { RequestFailure } from './requestError.ts'
import { answerFresh } from './conditional.ts'
import { flag } from './parameterSchemas.ts'
import type { RouteNeeds } from './routes.ts'

export const getFormParameters = z.object({
  includeFields: flag.describe('`false` leaves out `fields`.'),
  includeReport: flag.describe('`false` leaves out `report`.'),
})

/** GET /api/v1/forms/{id} */
export const getFormRoute =
  ({ replica, readParameters }: RouteNeeds): RouteMiddleware =>
  async (ctx) => {
    const parameters = readParameters(ctx, getFormParameters)
    const read = async (signal: AbortSignal): Promise<Buffer> => {
      const form = await getForm(replica, ctx.state.holder.teamId, ctx.params['id'] ?? '', parameters, signal)
      if (form === undefined) throw new RequestFailure({ kind: 'not_found', what: 'form' })
      return form
    }
    await answerFresh(ctx, { type: 'forms', parameters, alwaysExists: false, query: () => ctx.state.lookUp(read) })
  }

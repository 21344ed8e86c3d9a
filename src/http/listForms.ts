import { z } from 'zod'
import { scenes } from '../domain/form.ts'
import { listForms } from '../queries/listForms.ts'
import { renderPage } from '../queries/page.ts'
import type { RouteMiddleware } from './context.ts'
import { changedParameters, oneOf, pageParameters, title } from './parameterSchemas.ts'
import type { RouteNeeds } from './routes.ts'

export const listFormsParameters = z.object({
  scene: oneOf(scenes),
  titleContains: title,
  ...pageParameters,
  ...changedParameters,
})

/** GET /api/v1/forms */
export const listFormsRoute =
  ({ replica, readParameters, answerFresh }: RouteNeeds): RouteMiddleware =>
  async (ctx) => {
    const { scene, titleContains, changedSince, changedUntil, limit, page } = readParameters(ctx, listFormsParameters)
    const filter = { scene, titleContains, changed: { since: changedSince, until: changedUntil } }
    await answerFresh(
      ctx,
      async (signal) => renderPage(await listForms(replica, ctx.state.holder.teamId, filter, { page, limit }, signal)),
      changedSince === undefined && changedUntil === undefined ? undefined : 'needed',
    )
  }

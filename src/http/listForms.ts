import { z } from 'zod'
import { scenes } from '../domain/form.ts'
import { listForms } from '../queries/listForms.ts'
import { renderPage } from '../queries/page.ts'
import type { RouteMiddleware } from './context.ts'
import { answerFresh } from './freshness.ts'
import { changedParameters, oneOf, pageParameters, title } from './parameterSchemas.ts'
import type { RouteNeeds } from './routes.ts'

export const listFormsParameters = z.object({
  scene: oneOf(scenes).describe('Only forms of this scene.'),
  titleContains: title.describe(
    'Only forms whose title holds this text, or words that begin like its words; small typing errors are forgiven.',
  ),
  ...pageParameters,
  ...changedParameters,
})

/** GET /api/v1/forms */
export const listFormsRoute =
  ({ replica, readParameters }: RouteNeeds): RouteMiddleware =>
  async (ctx) => {
    const parameters = readParameters(ctx, listFormsParameters)
    const { scene, titleContains, changedSince, changedUntil, limit, page } = parameters
    const filter = { scene, titleContains, changed: { since: changedSince, until: changedUntil } }
    await answerFresh(ctx, {
      type: 'forms',
      parameters,
      needsTidemark: changedSince !== undefined || changedUntil !== undefined,
      alwaysExists: true,
      query: async (signal, version) =>
        renderPage(
          await listForms(replica, { teamId: ctx.state.holder.teamId, version, signal }, filter, { page, limit }),
        ),
    })
  }

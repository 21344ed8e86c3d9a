import { z } from 'zod'
import { scenes } from '../domain/form.ts'
import { exportList } from '../queries/exportList.ts'
import { type FormsFilter, formsFilters, listForms } from '../queries/listForms.ts'
import { renderPage } from '../queries/page.ts'
import type { RouteMiddleware } from './context.ts'
import { asksForExport, ndjson } from './export.ts'
import { answerFresh } from './freshness.ts'
import { changedParameters, noPageParameters, oneOf, pageParameters, title } from './parameterSchemas.ts'
import type { RouteNeeds } from './routes.ts'

export const listFormsParameters = z.object({
  scene: oneOf(scenes).describe('Only forms of this scene.'),
  titleContains: title.describe(
    'Only forms whose title holds this text, or all of its words in any order; when there are none, those with words that differ by small slips.',
  ),
  ...pageParameters,
  ...changedParameters,
})
const exportFormsParameters = listFormsParameters.extend(noPageParameters)

/** GET /api/v1/forms */
export const listFormsRoute =
  ({ replica, readParameters, startExport }: RouteNeeds): RouteMiddleware =>
  async (ctx) => {
    const { teamId } = ctx.state.holder
    if (asksForExport(ctx)) {
      const parameters = readParameters(ctx, exportFormsParameters)
      const filters = formsFilters(teamId, filterOf(parameters))
      await answerFresh(ctx, {
        ...freshOf(parameters),
        parameters: { ...parameters, as: ndjson },
        query: () => startExport(ctx, (within) => exportList(replica, 'forms', teamId, filters, within)),
      })
      return
    }
    const parameters = readParameters(ctx, listFormsParameters)
    const { limit, page } = parameters
    await answerFresh(ctx, {
      ...freshOf(parameters),
      parameters,
      query: (version) =>
        ctx.state.lookUp(async (signal) =>
          renderPage(await listForms(replica, { teamId, version, signal }, filterOf(parameters), { page, limit })),
        ),
    })
  }

type Filters = Omit<z.output<typeof listFormsParameters>, keyof typeof pageParameters>

const filterOf = ({ scene, titleContains, changedSince, changedUntil }: Filters): FormsFilter => ({
  scene,
  titleContains,
  changed: { since: changedSince, until: changedUntil },
})

const freshOf = ({ changedSince, changedUntil }: Filters) =>
  ({
    type: 'forms',
    needsTidemark: changedSince !== undefined || changedUntil !== undefined,
    alwaysExists: true,
  }) as const

import { z } from 'zod'
import { scenes } from '../core/model/form.ts'
import type { RouteMiddleware } from './context.ts'
import { asksForExport } from './exports.ts'
import { changedParameters, noPageParameters, oneOf, pageParameters, title } from './parameterSchemas.ts'
import { answerExport, answerPage } from './respondWithList.ts'
import type { RouteDeps } from './routeDeps.ts'
import type { ListReader } from './search/keptSnapshots.ts'
import { type FormsFilter, formsFilters, listForms } from './search/listForms.ts'

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
  (needs: RouteDeps): RouteMiddleware =>
  async (ctx) => {
    if (asksForExport(ctx)) {
      const parameters = needs.readParameters(ctx, exportFormsParameters)
      return await answerExport(
        ctx,
        needs,
        'forms',
        parameters,
        formsFilters(ctx.state.holder.teamId, filterOf(parameters)),
      )
    }
    const parameters = needs.readParameters(ctx, listFormsParameters)
    const { limit, page } = parameters
    const read = (reader: ListReader) => listForms(needs.replica, reader, filterOf(parameters), { limit, page })
    return await answerPage(ctx, 'forms', parameters, read)
  }

type Filters = Omit<z.output<typeof listFormsParameters>, keyof typeof pageParameters>

const filterOf = ({ scene, titleContains, changedSince, changedUntil }: Filters): FormsFilter => ({
  scene,
  titleContains,
  changed: { since: changedSince, until: changedUntil },
})

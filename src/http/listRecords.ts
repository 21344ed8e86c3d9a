import { z } from 'zod'
import { reportStatuses } from '../domain/submission.ts'
import { listRecords } from '../queries/listRecords.ts'
import { renderPage } from '../queries/page.ts'
import type { RouteMiddleware } from './context.ts'
import { answerFresh } from './freshness.ts'
import { changedParameters, createdParameters, oneOf, pageParameters, text } from './parameterSchemas.ts'
import type { RouteNeeds } from './routes.ts'

export const listRecordsParameters = z.object({
  formId: text.describe('Only submissions of this form.'),
  status: oneOf(reportStatuses).describe('Only submissions whose report has this status.'),
  ...createdParameters,
  ...pageParameters,
  ...changedParameters,
})

/** GET /api/v1/records */
export const listRecordsRoute =
  ({ replica, readParameters }: RouteNeeds): RouteMiddleware =>
  async (ctx) => {
    const parameters = readParameters(ctx, listRecordsParameters)
    const { formId, status, since, until, changedSince, changedUntil, limit, page } = parameters
    const created = { since, until }
    const changed = { since: changedSince, until: changedUntil }
    const filter = { formId, status, created, changed }
    await answerFresh(ctx, {
      type: 'submissions',
      parameters,
      needsTidemark: changedSince !== undefined || changedUntil !== undefined,
      alwaysExists: true,
      query: async (signal, version) =>
        renderPage(
          await listRecords(replica, { teamId: ctx.state.holder.teamId, version, signal }, filter, { page, limit }),
        ),
    })
  }

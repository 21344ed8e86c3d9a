import { z } from 'zod'
import { reportStatuses } from '../domain/submission.ts'
import { exportList } from '../queries/exportList.ts'
import { listRecords, type RecordsFilter, recordsFilter } from '../queries/listRecords.ts'
import { renderPage } from '../queries/page.ts'
import type { RouteMiddleware } from './context.ts'
import { asksForExport, ndjson } from './export.ts'
import { answerFresh } from './freshness.ts'
import {
  changedParameters,
  createdParameters,
  noPageParameters,
  oneOf,
  pageParameters,
  text,
} from './parameterSchemas.ts'
import type { RouteNeeds } from './routes.ts'

export const listRecordsParameters = z.object({
  formId: text.describe('Only submissions of this form.'),
  status: oneOf(reportStatuses).describe('Only submissions whose report has this status.'),
  ...createdParameters,
  ...pageParameters,
  ...changedParameters,
})
const exportRecordsParameters = listRecordsParameters.extend(noPageParameters)

/** GET /api/v1/records */
export const listRecordsRoute =
  ({ replica, readParameters, startExport }: RouteNeeds): RouteMiddleware =>
  async (ctx) => {
    const { teamId } = ctx.state.holder
    if (asksForExport(ctx)) {
      const parameters = readParameters(ctx, exportRecordsParameters)
      const filters = [recordsFilter(filterOf(parameters))]
      await answerFresh(ctx, {
        ...freshOf(parameters),
        parameters: { ...parameters, as: ndjson },
        query: () => startExport(ctx, (within) => exportList(replica, 'submissions', teamId, filters, within)),
      })
      return
    }
    const parameters = readParameters(ctx, listRecordsParameters)
    const { limit, page } = parameters
    await answerFresh(ctx, {
      ...freshOf(parameters),
      parameters,
      query: (version) =>
        ctx.state.lookUp(async (signal) =>
          renderPage(await listRecords(replica, { teamId, version, signal }, filterOf(parameters), { page, limit })),
        ),
    })
  }

type Filters = Omit<z.output<typeof listRecordsParameters>, keyof typeof pageParameters>

const filterOf = ({ formId, status, since, until, changedSince, changedUntil }: Filters): RecordsFilter => ({
  formId,
  status,
  created: { since, until },
  changed: { since: changedSince, until: changedUntil },
})

const freshOf = ({ changedSince, changedUntil }: Filters) =>
  ({
    type: 'submissions',
    needsTidemark: changedSince !== undefined || changedUntil !== undefined,
    alwaysExists: true,
  }) as const

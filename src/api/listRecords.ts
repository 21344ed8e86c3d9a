import { z } from 'zod'
import { reportStatuses } from '../core/model/submission.ts'
import type { RouteMiddleware } from './context.ts'
import { asksForExport } from './exports.ts'
import {
  changedParameters,
  createdParameters,
  noPageParameters,
  oneOf,
  pageParameters,
  text,
} from './parameterSchemas.ts'
import { answerExport, answerPage } from './respondWithList.ts'
import type { RouteDeps } from './routeDeps.ts'
import type { ListReader } from './search/keptSnapshots.ts'
import { listRecords, type RecordsFilter, recordsFilter } from './search/listRecords.ts'

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
  (needs: RouteDeps): RouteMiddleware =>
  async (ctx) => {
    if (asksForExport(ctx)) {
      const parameters = needs.readParameters(ctx, exportRecordsParameters)
      return await answerExport(ctx, needs, 'submissions', parameters, [recordsFilter(filterOf(parameters))])
    }
    const parameters = needs.readParameters(ctx, listRecordsParameters)
    const { limit, page } = parameters
    const read = (reader: ListReader) => listRecords(needs.replica, reader, filterOf(parameters), { limit, page })
    return await answerPage(ctx, 'submissions', parameters, read)
  }

type Filters = Omit<z.output<typeof listRecordsParameters>, keyof typeof pageParameters>

const filterOf = ({ formId, status, since, until, changedSince, changedUntil }: Filters): RecordsFilter => ({
  formId,
  status,
  created: { since, until },
  changed: { since: changedSince, until: changedUntil },
})

import { z } from 'zod'
import type { TeamId } from '../core/model/ids.ts'
import { reportStatuses, servedSubmissionSummary } from '../core/model/submission.ts'
import { detailRoute } from './detailRoute.ts'
import { listRoute } from './lists.ts'
import {
  changedParameters,
  createdParameters,
  exportParameters,
  oneOf,
  pageParameters,
  text,
} from './parameterSchemas.ts'
import { termClauses, windowClauses } from './search/clauses.ts'
import { readDetail } from './search/details.ts'
import type { Filters } from './search/searchPage.ts'

export const submissionsParameters = {
  formId: text.describe('Only submissions of this form.'),
  status: oneOf(reportStatuses).describe('Only submissions whose report has this status.'),
  ...createdParameters,
}

export const listSubmissionsParameters = z.object({
  ...submissionsParameters,
  ...pageParameters,
  ...changedParameters,
  ...exportParameters,
})

/** The parameters that select submissions. */
type SubmissionsSelection = Omit<
  z.output<typeof listSubmissionsParameters>,
  keyof typeof pageParameters | keyof typeof exportParameters
>

export const getSubmissionParameters = z.object({})

/** The filter that selects submissions. */
export const submissionsFilters = (_teamId: TeamId, selection: SubmissionsSelection): Filters => [
  [
    ...termClauses('formId', selection.formId),
    ...termClauses('status', selection.status),
    ...windowClauses('createdAt', selection.since, selection.until),
    ...windowClauses('changedAt', selection.changedSince, selection.changedUntil),
  ],
]

/** GET /api/v1/records */
export const listSubmissions = listRoute(
  {
    type: 'submissions',
    filtersOf: submissionsFilters,
    served: servedSubmissionSummary,
    formIdOf: ({ formId }) => formId,
  },
  listSubmissionsParameters,
)

/** GET /api/v1/records/{id} */
export const getSubmission = detailRoute(
  'submissions',
  'record',
  getSubmissionParameters,
  (client, teamId, id, _parameters, signal) => readDetail(client, 'submission-details', teamId, id, signal),
)

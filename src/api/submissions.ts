import { z } from 'zod'
import { reportStatuses } from '../core/model/submission.ts'
import { isNotModified, matchesAny, send, sendNotModified, validatorsOf } from './conditional.ts'
import type { RouteContext, RouteDeps } from './context.ts'
import { apiError } from './errors.ts'
import { asksForExport } from './exports.ts'
import {
  changedParameters,
  createdParameters,
  noPageParameters,
  oneOf,
  pageParameters,
  text,
} from './parameterSchemas.ts'
import { respondWithExport, respondWithPage } from './respondWithList.ts'
import { type Clause, termClauses, windowClauses } from './search/clauses.ts'
import type { IndexReader } from './search/indexReader.ts'
import type { ListReader } from './search/keptSnapshots.ts'
import type { Page, PageRequest } from './search/page.ts'
import { readDetail } from './search/readDetail.ts'
import { searchPage } from './search/searchPage.ts'

export const listSubmissionsParameters = z.object({
  formId: text.describe('Only submissions of this form.'),
  status: oneOf(reportStatuses).describe('Only submissions whose report has this status.'),
  ...createdParameters,
  ...pageParameters,
  ...changedParameters,
})
const exportSubmissionsParameters = listSubmissionsParameters.extend(noPageParameters)

type SubmissionsFilter = Omit<z.output<typeof listSubmissionsParameters>, keyof typeof pageParameters>

export const getSubmissionParameters = z.object({})

/** GET /api/v1/records */
export async function listSubmissions(ctx: RouteContext, deps: RouteDeps): Promise<void> {
  if (asksForExport(ctx)) return await exportSubmissions(ctx, deps)
  const parameters = deps.readParameters(ctx, listSubmissionsParameters)
  await respondWithPage(ctx, 'submissions', parameters, (reader) =>
    findSubmissions(deps.indexReader, reader, parameters, parameters),
  )
}

async function exportSubmissions(ctx: RouteContext, deps: RouteDeps): Promise<void> {
  const parameters = deps.readParameters(ctx, exportSubmissionsParameters)
  await respondWithExport(ctx, deps, 'submissions', parameters, [submissionsFilter(parameters)])
}

/** GET /api/v1/records/{id} */
export async function getSubmission(ctx: RouteContext, { indexReader, readParameters }: RouteDeps): Promise<void> {
  const parameters = readParameters(ctx, getSubmissionParameters)
  const validators = validatorsOf(ctx, 'submissions', parameters)
  if (isNotModified(ctx, validators) && !matchesAny(ctx)) return sendNotModified(ctx, validators)
  const submission = await ctx.state.runQuery((signal) =>
    readDetail(indexReader, 'submission-details', ctx.state.holder.teamId, ctx.params['id'] ?? '', signal),
  )
  if (submission === undefined) throw apiError('not_found', 'no such record')
  send(ctx, validators, submission)
}

const submissionsFilter = (filter: SubmissionsFilter): readonly Clause[] => [
  ...termClauses('formId', filter.formId),
  ...termClauses('status', filter.status),
  ...windowClauses('createdAt', filter.since, filter.until),
  ...windowClauses('changedAt', filter.changedSince, filter.changedUntil),
]

/** One page of a team's submissions, newest first. */
export const findSubmissions = (
  indexReader: IndexReader,
  reader: ListReader,
  filter: SubmissionsFilter,
  { page, limit }: PageRequest,
): Promise<Page> => searchPage(indexReader, 'submissions', reader, submissionsFilter(filter), { page, limit })

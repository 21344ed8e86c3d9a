import { z } from 'zod'
import type { TeamId } from '../core/model/ids.ts'
import { reportStatuses } from '../core/model/submission.ts'
import type { Route } from './context.ts'
import { detailRoute, listRoute } from './entityRoutes.ts'
import { apiError } from './errors.ts'
import { validatorsOf } from './etag.ts'
import { changedParameters, createdParameters, listParameters, oneOf, text, timeZone, utc } from './parameters.ts'
import { respond } from './respond.ts'
import { type Filters, termClauses, windowClauses } from './search/clauses.ts'
import { countByTime, countByValue, type TimeUnit, timeUnits } from './search/counts.ts'

const selectionParameters = {
  formId: text.describe('Only submissions of this form.'),
  status: oneOf(reportStatuses).describe('Only submissions whose report has this status.'),
  ...createdParameters,
  ...changedParameters,
}

export const submissionsFilters = (
  _teamId: TeamId,
  selection: z.output<z.ZodObject<typeof selectionParameters>>,
): Filters => [
  [
    ...termClauses('formId', selection.formId),
    ...termClauses('status', selection.status),
    ...windowClauses('createdAt', selection.since, selection.until),
    ...windowClauses('changedAt', selection.changedSince, selection.changedUntil),
  ],
]

/** GET /api/v1/records */
export const listSubmissions = listRoute(
  'submissions',
  z.object({ ...selectionParameters, ...listParameters }),
  submissionsFilters,
)

/** GET /api/v1/records/{id} */
export const getSubmission = detailRoute('submissions', z.object({}), (submission) => submission)

const fields = { form: 'formId', status: 'status' } as const
const groups = [...timeUnits, 'form', 'status'] as const

type Group = (typeof groups)[number]

const isTimeUnit = (group: Group): group is TimeUnit => (timeUnits as readonly string[]).includes(group)

export const countSubmissionsParameters = z
  .object({
    by: oneOf(groups)
      .nonoptional('is required: one of hour, day, month, form, status')
      .describe(
        'What is counted: submissions of each hour, day or month of `submittedAt`, of each form, of each status.',
      ),
    timeZone: timeZone.describe(
      'The IANA time zone whose hours, days or months are counted, UTC unless it is given. Only with these.',
    ),
    ...selectionParameters,
  })
  .refine(({ by, timeZone: zone = utc }) => zone === utc || isTimeUnit(by), {
    path: ['timeZone'],
    error: `belongs to by=${timeUnits.join(', by=')}: it must be left out of other counts`,
  })

/** GET /api/v1/record-counts */
export const countSubmissions: Route = async (ctx, { readParameters, indexReader, answers, nowMs }) => {
  const parameters = readParameters(ctx, countSubmissionsParameters)
  const validators = validatorsOf(ctx, 'submissions', parameters)
  const { by, timeZone: zone = utc } = parameters
  const { teamId } = ctx.state.holder
  const [filter] = submissionsFilters(teamId, parameters)
  const whole = async () => {
    const counts = await ctx.state.runQuery((signal) => {
      const selection = { list: { ...indexReader, type: 'submissions' as const, teamId }, filter, signal }
      return isTimeUnit(by)
        ? countByTime(selection, { unit: by, timeZone: zone, nowMs: nowMs() })
        : countByValue(selection, fields[by])
    })
    if (!counts.ok) throw apiError('bad_request', `${counts.problem.path} ${counts.problem.rule}`)
    const { totalDocs, items } = counts.value
    return { body: Buffer.from(JSON.stringify({ totalDocs, by, items })) }
  }
  await respond(ctx, answers, validators, { whole })
}

import { z } from 'zod'
import type { WindowBound } from '../core/model/instant.ts'
import type { Rendered } from './answerCache.ts'
import type { RouteContext, RouteDeps } from './context.ts'
import { apiError } from './errors.ts'
import { changedParameters, oneOf, timeZone, utc } from './parameterSchemas.ts'
import { respond } from './respond.ts'
import { type Counts, countByTime, countByValue, type TimeUnit, timeUnits } from './search/counts.ts'
import { submissionsFilters, submissionsParameters } from './submissions.ts'
import { validatorsOf } from './validators.ts'

const fields = { form: 'formId', status: 'status' } as const
const fieldGroups = ['form', 'status'] as const satisfies readonly (keyof typeof fields)[]
const groups = [...timeUnits, ...fieldGroups]

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
    ...submissionsParameters,
    ...changedParameters,
  })
  .refine(({ by, timeZone: zone = utc }) => zone === utc || isTimeUnit(by), {
    path: ['timeZone'],
    error: `belongs to by=${timeUnits.join(', by=')}: it must be left out of other counts`,
  })

/** Renders the answer of the endpoint. */
export const renderCounts = (by: Group, { totalDocs, items }: Counts): Buffer =>
  Buffer.from(JSON.stringify({ totalDocs, by, items }))

/** GET /api/v1/record-counts */
export async function countSubmissions(
  ctx: RouteContext,
  { readParameters, indexReader, answers, nowMs }: RouteDeps,
): Promise<void> {
  const parameters = readParameters(ctx, countSubmissionsParameters)
  const validators = validatorsOf(ctx, 'submissions', parameters)
  const { by, timeZone: zone = utc, since, until } = parameters
  const { teamId } = ctx.state.holder
  const [filter] = submissionsFilters(teamId, parameters)
  const window = { sinceMs: toEpochMs(since), untilMs: toEpochMs(until) }
  const whole = async (): Promise<Rendered> => {
    const counts = await ctx.state.runQuery((signal) => {
      const selection = { teamId, filter, signal }
      return isTimeUnit(by)
        ? countByTime(indexReader, selection, { unit: by, timeZone: zone, window, nowMs: nowMs() })
        : countByValue(indexReader, selection, fields[by])
    })
    if (!counts.ok) throw apiError('bad_request', `${counts.problem.path} ${counts.problem.rule}`)
    return { body: renderCounts(by, counts.value) }
  }
  await respond(ctx, answers, validators, { whole })
}

/** Undefined also for a bound beyond all instants, which leaves nothing to count. */
const toEpochMs = (bound: WindowBound | undefined): number | undefined =>
  bound === undefined || bound === 'beyond-all' ? undefined : Date.parse(bound)

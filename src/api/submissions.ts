import { z } from 'zod'
import { jsonOf } from '../core/json/iJson.ts'
import { answerBeginning, answerField } from '../core/model/answers.ts'
import type { TeamId } from '../core/model/ids.ts'
import { reportStatuses } from '../core/model/submission.ts'
import type { Route } from './context.ts'
import { detailRoute, listRoute } from './entityRoutes.ts'
import { apiError } from './errors.ts'
import { validatorsOf } from './etag.ts'
import * as parameter from './parameters.ts'
import { respond } from './respond.ts'
import { type Filters, scoreClauses, termClauses, windowClauses } from './search/clauses.ts'
import {
  answersTo,
  anyValueOf,
  countSubmissions,
  everyValueOf,
  mostBytes,
  type TimeUnit,
  timeUnits,
  usualBytes,
} from './search/counts.ts'
import { AnswerTooLong } from './search/searchClient.ts'

/** Parameters that a member of the submission must be equal to, and the field of the index that holds it. */
const members = {
  email: 'summary.examinee.email',
  examineeId: 'summary.examinee.examineeId',
  serialNumber: 'summary.serialNumber',
  shareToken: 'summary.shareToken',
  level: 'summary.result.level',
  outcomeCode: 'summary.result.outcomeCode',
  utmSource: 'summary.metadata.utmSource',
  utmMedium: 'summary.metadata.utmMedium',
  utmCampaign: 'summary.metadata.utmCampaign',
} as const

const selectionParameters = {
  formId: parameter.text.describe('Only submissions of this form.'),
  status: parameter.oneOf(reportStatuses).describe('Only submissions whose report has this status.'),
  email: parameter.value.describe('Only submissions of the examinee with this email address, in any letter case.'),
  examineeId: parameter.value.describe('Only submissions of the examinee with this `examineeId`.'),
  serialNumber: parameter.safeInteger.describe('Only submissions with this serial number.'),
  shareToken: parameter.value.describe('Only the submission with this token.'),
  level: parameter.value.describe('Only submissions whose result has this level.'),
  outcomeCode: parameter.value.describe('Only submissions whose result has this outcome.'),
  utmSource: parameter.value.describe('Only submissions with this `metadata.utmSource`.'),
  utmMedium: parameter.value.describe('Only submissions with this `metadata.utmMedium`.'),
  utmCampaign: parameter.value.describe('Only submissions with this `metadata.utmCampaign`.'),
  'answer.<code>': parameter.answers,
  answers: parameter.answersAsJson.describe(
    'Only submissions with these answers: a JSON object that has, by the code of a field, an answer or a list of alternatives. An answer is ' +
      'text, or a number, `true` or `false` as it is served, or an element of a list. `answer.<code>=<answer>` says the same of one ' +
      'field, repeated for others.',
  ),
  minScore: parameter.anyNumber.describe('Only submissions whose `result.score` is this or higher.'),
  maxScore: parameter.anyNumber.describe('Only submissions whose `result.score` is this or lower.'),
  ...parameter.createdParameters,
  ...parameter.changedParameters,
}

export const submissionsFilters = (
  _teamId: TeamId,
  selection: z.output<z.ZodObject<typeof selectionParameters>>,
  hasAnswers: boolean,
): Filters => [
  [
    ...termClauses('formId', selection.formId),
    ...termClauses('status', selection.status),
    ...Object.entries(members).flatMap(([name, field]) => termClauses(field, selection[name as keyof typeof members])),
    ...[...(selection['answer.<code>'] ?? []), ...(selection.answers ?? [])].map(([code, values]) => {
      expectAnswers(hasAnswers, `answer.${code}`)
      return { terms: { [answerField(code)]: values.map((each) => answerBeginning(code) + each) } }
    }),
    ...scoreClauses(selection.minScore, selection.maxScore),
    ...windowClauses('createdAt', selection.since, selection.until),
    ...windowClauses('changedAt', selection.changedSince, selection.changedUntil),
  ],
]

/** Refuses a question about answers where they are not indexed: they would not be found. */
function expectAnswers(hasAnswers: boolean, name: string): void {
  if (!hasAnswers)
    throw apiError('bad_request', `${name} cannot be asked for: answers are not indexed here (INDEX_ANSWERS=false)`)
}

export const listSubmissions = listRoute(
  'submissions',
  z.object({ ...selectionParameters, ...parameter.listParameters }),
  submissionsFilters,
)

export const getSubmission = detailRoute('submissions', z.object({}), (submission) => submission)

/** What can be counted besides units of time. */
const counted = {
  form: () => everyValueOf('formId'),
  status: () => everyValueOf('status'),
  level: () => anyValueOf(members.level),
  outcome: () => anyValueOf(members.outcomeCode),
  utmSource: () => anyValueOf(members.utmSource),
  utmCampaign: () => anyValueOf(members.utmCampaign),
  answer: answersTo,
}

const countedNames = Object.keys(counted) as (keyof typeof counted)[]
const groupings = new Map(
  [
    ...timeUnits.map((unit) => ({ unit })),
    ...countedNames.map((name) => ({ name })),
    ...timeUnits.flatMap((unit) => countedNames.map((name) => ({ unit, name }))),
  ].map((grouping: { unit?: TimeUnit; name?: keyof typeof counted }) => [Object.values(grouping).join(), grouping]),
)
const single = [...timeUnits, ...countedNames].join(', ')

export const countSubmissionsParameters = z
  .object({
    by: z
      .enum([...groupings.keys()], {
        error: ({ input }) =>
          `${input === undefined ? 'is required: one' : 'must be one'} of ${single}, or a time and another, as in day,level`,
      })
      .describe(
        'What is counted: submissions of each hour, day or month of `submittedAt`, of each form, of each status, level, outcome, source or campaign, of ' +
          'each answer to the field `code`, or two at once, a time and another.',
      ),
    code: parameter.anyText
      .optional()
      .describe('The code of the field whose answers are counted. Only with these, and then required.'),
    scores: parameter
      .flag(false)
      .describe('`true` adds number, minimum, maximum and mean of `result.score` to each item.'),
    timeZone: parameter.timeZone.describe(
      'The IANA time zone whose hours, days or months are counted, UTC unless it is given. Only with these.',
    ),
    ...selectionParameters,
  })
  .superRefine(({ by, code, timeZone = parameter.utc }, context) => {
    const refuse = (name: string, message: string): void => context.addIssue({ code: 'custom', path: [name], message })
    const { unit, name } = groupings.get(by) ?? {}
    if (timeZone !== parameter.utc && unit === undefined)
      refuse('timeZone', `belongs to by=${timeUnits.join(', by=')}: it must be left out of other counts`)
    if ((code === undefined) === (name === 'answer'))
      refuse(
        'code',
        code === undefined ? `is required with by=${by}` : 'belongs to by=answer: it must be left out of other counts',
      )
  })

export const countRecords: Route = async (ctx, { readParameters, indexReader, answers, nowMs }) => {
  const parameters = readParameters(ctx, countSubmissionsParameters)
  const validators = validatorsOf(ctx, 'submissions', parameters)
  const { by, code = '', scores: hasScores, timeZone = parameter.utc, until } = parameters
  const { holder, holdAnswer, runQuery } = ctx.state
  const { teamId } = holder
  const [filter] = submissionsFilters(teamId, parameters, indexReader.hasAnswers)
  const { unit, name } = groupings.get(by) ?? {}
  if (name === 'answer') expectAnswers(indexReader.hasAnswers, 'by=answer')
  const value = name && counted[name](code)
  const untilMs = until === undefined || until === 'beyond-all' ? Number.POSITIVE_INFINITY : Date.parse(until)
  const whole = async () => {
    const list = { ...indexReader, type: 'submissions' as const, teamId, indices: validators.indices }
    const asked = { list, filter, untilMs, by, unit, value, hasScores, timeZone }
    const countWithin = async (maxBytes: number): ReturnType<typeof countSubmissions> => {
      const release = await holdAnswer(maxBytes)
      try {
        const send = (signal: AbortSignal) => countSubmissions({ ...asked, maxBytes, signal }, nowMs())
        // It counts twice what it reads: Elasticsearch may have as much to do with it as with many pages.
        return await runQuery(send, 2 * maxBytes)
      } catch (error) {
        if (!(error instanceof AnswerTooLong)) throw error
        release()
        return await countWithin(mostBytes)
      }
    }
    const { totalDocs, items } = await countWithin(usualBytes)
    return { body: Buffer.from(jsonOf({ totalDocs, by, items })) }
  }
  await respond(ctx, answers, validators, { whole })
}

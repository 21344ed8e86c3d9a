import { z } from 'zod'
import { answerBeginning, answerField } from '../core/model/answers.ts'
import type { TeamId } from '../core/model/ids.ts'
import {
  reportStatuses,
  servedSubmission,
  servedSubmissionSummary,
  submissionSchema,
} from '../core/model/submission.ts'
import type { Endpoint } from './endpoint.ts'
import { detailRoute, listRoute } from './entityRoutes.ts'
import { apiError } from './errors.ts'
import { jsonSchemaOf, pageSchema, servedSchema } from './openapi/jsonSchema.ts'
import * as parameter from './parameters.ts'
import { type Filters, scoreClauses, termClauses, windowClauses } from './search/clauses.ts'

/** For each of these parameters, the index field that must have the same value. */
export const indexFields = {
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

export const selectionParameters = {
  formId: parameter.text.describe('Only submissions of this form.'),
  status: parameter.oneOf(reportStatuses).describe('Only submissions whose report has this status.'),
  email: parameter.value.describe('Only submissions of the examinee with this email address, in any letter case.'),
  examineeId: parameter.value.describe('Only submissions of the examinee with this `examineeId`.'),
  serialNumber: parameter.safeInteger.describe('Only submissions with this serial number.'),
  shareToken: parameter.value.describe('Only the submission with this `shareToken`.'),
  level: parameter.value.describe('Only submissions with this `result.level`.'),
  outcomeCode: parameter.value.describe('Only submissions with this `result.outcomeCode`.'),
  utmSource: parameter.value.describe('Only submissions with this `metadata.utmSource`.'),
  utmMedium: parameter.value.describe('Only submissions with this `metadata.utmMedium`.'),
  utmCampaign: parameter.value.describe('Only submissions with this `metadata.utmCampaign`.'),
  'answer.<code>': parameter.answers,
  answers: parameter.answersAsJson.describe(
    'Only submissions with these answers: a JSON object from the code of a field to an answer, or to a list of alternatives. Numbers, `true` and ' +
      '`false` are written as text, as they are served. Of an answer that is a list, one element is enough. The same as one ' +
      '`answer.<code>=<answer>` for each answer.',
  ),
  minScore: parameter.anyNumber.describe('Only submissions whose `result.score` is this or higher.'),
  maxScore: parameter.anyNumber.describe('Only submissions whose `result.score` is this or lower.'),
  ...parameter.createdParameters,
  ...parameter.changedParameters,
}

/** `hasAnswers`: whether answers are indexed (`INDEX_ANSWERS`). */
export const submissionsFilters = (
  _teamId: TeamId,
  selection: z.output<z.ZodObject<typeof selectionParameters>>,
  hasAnswers: boolean,
): Filters => [
  [
    ...termClauses('formId', selection.formId),
    ...termClauses('status', selection.status),
    ...Object.entries(indexFields).flatMap(([name, field]) =>
      termClauses(field, selection[name as keyof typeof indexFields]),
    ),
    ...[...(selection['answer.<code>'] ?? []), ...(selection.answers ?? [])].map(([code, values]) => {
      requireIndexedAnswers(hasAnswers, `answer.${code}`)
      // A term is the code with its length, then the value: `2.q1yes`.
      return { terms: { [answerField(code)]: values.map((value) => answerBeginning(code) + value) } }
    }),
    ...scoreClauses(selection.minScore, selection.maxScore),
    ...windowClauses('createdAt', selection.since, selection.until),
    ...windowClauses('changedAt', selection.changedSince, selection.changedUntil),
  ],
]

/** Throws 400 if answers are not indexed: the search would find nothing. */
export function requireIndexedAnswers(hasAnswers: boolean, name: string): void {
  if (!hasAnswers)
    throw apiError('bad_request', `${name} is not available: answers are not indexed here (INDEX_ANSWERS=false)`)
}

export const listSubmissions = listRoute(
  'submissions',
  z.object({ ...selectionParameters, ...parameter.listParameters }),
  submissionsFilters,
)

export const getSubmission = detailRoute('submissions', z.object({}), (submission) => submission)

const jsonSchema = jsonSchemaOf(submissionSchema)

export const submissionSchemas = {
  SubmissionSummary: servedSchema(jsonSchema, servedSubmissionSummary),
  Submission: servedSchema(jsonSchema, servedSubmission),
  SubmissionList: pageSchema('SubmissionSummary'),
} as const

export const submissionEndpoints: readonly Endpoint<keyof typeof submissionSchemas>[] = [
  {
    path: '/records',
    ...listSubmissions,
    operationId: 'listRecords',
    summary: 'List submissions',
    description:
      "All submissions of the key's team, newest first by `submittedAt`, then by `id` descending. `since` and `until` filter by `submittedAt`, " +
      'so they miss updates; `changedSince` and `changedUntil` filter by the time of the newest change, and miss deletions. A program that must not ' +
      'miss a change reads `/record-changes`.',
    answer: 'SubmissionList',
    exportedRow: 'submission',
  },
  {
    path: '/records/:id',
    ...getSubmission,
    operationId: 'getRecord',
    summary: 'Get one submission',
    description: 'A submission with its full report.',
    answer: 'Submission',
  },
]

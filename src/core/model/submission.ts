import { z } from 'zod'
import type { Served } from '../json/shape.ts'
import {
  identifier,
  instant,
  optionalArray,
  optionalInteger,
  optionalNumber,
  optionalObject,
  optionalString,
} from './schema.ts'

export const reportStatuses = ['pending', 'processing', 'completed', 'failed'] as const
export type ReportStatus = (typeof reportStatuses)[number]

const examinee = z.object({
  id: optionalString,
  examineeId: optionalString,
  email: optionalString,
  name: optionalString,
})

const metadata = z.object({
  utmSource: optionalString,
  utmMedium: optionalString,
  utmCampaign: optionalString,
  utmTerm: optionalString,
  utmContent: optionalString,
  referrer: optionalString,
  ip: optionalString,
  userAgent: optionalString,
})

const result = z.object({
  status: z.enum(reportStatuses),
  score: optionalNumber,
  maxScore: optionalNumber,
  level: optionalString,
  outcomeCode: optionalString,
  outcomeName: optionalString,
})

const reportResult = z.object({
  status: z.enum(reportStatuses).nullish(),
  overallAnalysis: z
    .object({
      score: optionalNumber,
      maxScore: optionalNumber,
      level: optionalString,
      summary: optionalString,
      suggestions: optionalString,
    })
    .nullish(),
  dimensionAnalysis: z.object({ title: optionalString, radar: optionalArray, items: optionalArray }).nullish(),
  outcome: z.object({ code: optionalString, name: optionalString }).nullish(),
  aiSuggestion: z.object({ status: optionalString, content: optionalString }).nullish(),
})

/** A submission as a record carries it: the union of the specification's submission summary and single submission. */
export const submissionSchema = z.object({
  id: identifier.describe('The submission identifier.'),
  formId: identifier.describe('The form that the submission belongs to.'),
  submittedAt: instant.describe('When the submission was created.'),
  updatedAt: instant,
  serialNumber: optionalInteger.describe('Integer serial of the submission.'),
  shareToken: optionalString.describe('Short token of the submission.'),
  reportUrl: optionalString.describe("URL of the submission's report."),
  examinee: examinee.nullish().describe('Null for anonymous submissions.'),
  metadata: metadata.nullish(),
  data: optionalObject.describe('Answers by the `code` of each form field.'),
  result: result.describe('Compact summary of the report.'),
  reportResult: reportResult.nullish().describe('The full report.'),
})
export type Submission = z.output<typeof submissionSchema>

const utmAndReferrer = ['utmSource', 'utmMedium', 'utmCampaign', 'utmTerm', 'utmContent', 'referrer']
const common = ['id', 'serialNumber', 'formId', 'shareToken', 'reportUrl', 'submittedAt', 'updatedAt']

/** What is served of a submission in the records list, in the specification's order. */
export const servedSubmissionSummary: Served = [
  ...common,
  ['examinee', ['id', 'examineeId', 'email', 'name', 'customData']],
  ['metadata', utmAndReferrer],
  'data',
  ['result', ['status', 'score', 'maxScore', 'level', 'outcomeCode', 'outcomeName']],
]

/** What is served of a submission alone, with its full report. */
export const servedSubmission: Served = [
  ...common,
  ['examinee', ['id', 'email', 'name']],
  ['metadata', [...utmAndReferrer, 'ip', 'userAgent']],
  'data',
  [
    'reportResult',
    [
      'status',
      ['overallAnalysis', ['score', 'maxScore', 'level', 'summary', 'suggestions']],
      ['dimensionAnalysis', ['title', 'radar', 'items']],
      ['outcome', ['code', 'name', 'ranking']],
      ['aiSuggestion', ['status', 'content']],
    ],
  ],
]

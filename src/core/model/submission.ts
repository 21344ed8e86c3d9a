import { z } from 'zod'
import type { Served } from '../json/scanner.ts'
import { identifier, instant, optionalArray, optionalNumber, optionalObject, optionalString } from './schema.ts'

export const reportStatuses = ['pending', 'processing', 'completed', 'failed'] as const
export type ReportStatus = (typeof reportStatuses)[number]

const examinee = z.object({
  id: optionalString.meta({ examples: ['m1'] }),
  examineeId: optionalString.meta({ examples: ['e1'] }),
  email: optionalString.meta({ examples: ['ada@example.com'] }),
  name: optionalString.meta({ examples: ['Ada'] }),
})

const metadata = z.object({
  utmSource: optionalString.meta({ examples: ['newsletter'] }),
  utmMedium: optionalString.meta({ examples: ['email'] }),
  utmCampaign: optionalString.meta({ examples: ['spring'] }),
  utmTerm: optionalString,
  utmContent: optionalString,
  referrer: optionalString.meta({ examples: ['https://example.com/'] }),
  ip: optionalString.meta({ examples: ['203.0.113.7'] }),
  userAgent: optionalString.meta({ examples: ['Mozilla/5.0'] }),
})

const score = optionalNumber.meta({ examples: [80] })
const maxScore = optionalNumber.meta({ examples: [100] })
const level = optionalString.meta({ examples: ['good'] })

const result = z.object({
  status: z.enum(reportStatuses).meta({ examples: ['completed'] }),
  score,
  maxScore,
  level,
  outcomeCode: optionalString,
  outcomeName: optionalString,
})

const reportResult = z.object({
  status: z
    .enum(reportStatuses)
    .nullish()
    .meta({ examples: ['completed'] }),
  overallAnalysis: z
    .object({
      score,
      maxScore,
      level,
      summary: optionalString.meta({ examples: ['Well done'] }),
      suggestions: optionalString.meta({ examples: ['Read on'] }),
    })
    .nullish(),
  dimensionAnalysis: z
    .object({
      title: optionalString.meta({ examples: ['Dimensions'] }),
      radar: optionalArray.meta({ examples: [[{ name: 'accuracy', value: 0.8 }]] }),
      items: optionalArray.meta({ examples: [[]] }),
    })
    .nullish(),
  outcome: z.object({ code: optionalString, name: optionalString }).nullish(),
  aiSuggestion: z
    .object({
      status: optionalString.meta({ examples: ['completed'] }),
      content: optionalString.meta({ examples: ['Keep going'] }),
    })
    .nullish(),
})

/** Beyond these, warehouses and clients with doubles lose digits. */
const minimum = Number.MIN_SAFE_INTEGER
const maximum = Number.MAX_SAFE_INTEGER
/** As JSON Schema defines it: also `17.0` and `1e3`. */
const optionalInteger = z
  .custom<number>(Number.isSafeInteger, `must be an integer from ${minimum} to ${maximum}`)
  .meta({ type: 'integer', minimum, maximum })
  .nullish()

/** The union of the specification's submission summary and single submission. */
export const submissionSchema = z.object({
  id: identifier.meta({ description: 'The submission identifier.', examples: ['66f2b7d90a31'] }),
  formId: identifier.meta({ description: 'The form that the submission belongs to.', examples: ['66f2a1c4e8b0'] }),
  submittedAt: instant.meta({
    description: 'When the submission was created.',
    examples: ['2026-04-01T12:00:00.000Z'],
  }),
  updatedAt: instant.meta({ examples: ['2026-04-01T12:05:00.500Z'] }),
  serialNumber: optionalInteger.meta({ description: 'Integer serial of the submission.', examples: [17] }),
  shareToken: optionalString.meta({ description: 'Short token of the submission.', examples: ['s7T8u9'] }),
  reportUrl: optionalString.meta({
    description: "URL of the submission's report.",
    examples: ['https://quiz.example/r/s7T8u9'],
  }),
  examinee: examinee.nullish().describe('Null for anonymous submissions.'),
  metadata: metadata.nullish(),
  data: optionalObject.meta({ description: 'Answers by the `code` of each form field.', examples: [{ q1: 'A' }] }),
  result: result.describe('Compact summary of the report.'),
  reportResult: reportResult.nullish().describe('The full report.'),
})
export type Submission = z.output<typeof submissionSchema>

/* The API also serves members that the schema lacks, such as `customData` and `ranking`, unchecked. */

const utmAndReferrer = ['utmSource', 'utmMedium', 'utmCampaign', 'utmTerm', 'utmContent', 'referrer']
const commonMembers = ['id', 'serialNumber', 'formId', 'shareToken', 'reportUrl', 'submittedAt', 'updatedAt']

/** In the list `/records`, in the specification's order. `[name, members]`: an object, and which of its members are served. */
export const servedSubmissionSummary: Served = [
  ...commonMembers,
  ['examinee', ['id', 'examineeId', 'email', 'name', 'customData']],
  ['metadata', utmAndReferrer],
  'data',
  ['result', ['status', 'score', 'maxScore', 'level', 'outcomeCode', 'outcomeName']],
]

/** For a request by id. */
export const servedSubmission: Served = [
  ...commonMembers,
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

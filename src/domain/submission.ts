import { z } from 'zod'
import { type RawObject, rawMembers, renderObject } from './rawJson.ts'
import { identifier, instant, optionalArray, optionalNumber, optionalObject, optionalString } from './schema.ts'

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
  status: optionalString,
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
  id: identifier,
  formId: identifier,
  submittedAt: instant,
  updatedAt: instant,
  serialNumber: optionalNumber,
  shareToken: optionalString,
  reportUrl: optionalString,
  examinee: examinee.nullish(),
  metadata: metadata.nullish(),
  data: optionalObject,
  result,
  reportResult: reportResult.nullish(),
})
export type Submission = z.output<typeof submissionSchema>

const utmAndReferrer = ['utmSource', 'utmMedium', 'utmCampaign', 'utmTerm', 'utmContent', 'referrer']

/** A submission as the records list serves it, in the specification's order. */
export const renderSubmissionSummary = (submission: Submission, raw: RawObject): string =>
  renderObject([
    ...commonMembers(submission, raw),
    ['examinee', pick(raw.get('examinee'), ['id', 'examineeId', 'email', 'name', 'customData'])],
    ['metadata', pick(raw.get('metadata'), utmAndReferrer)],
    ['data', raw.get('data')],
    ['result', pick(raw.get('result'), ['status', 'score', 'maxScore', 'level', 'outcomeCode', 'outcomeName'])],
  ])

/** A submission as it is served alone, with its full report. */
export const renderSubmissionDetail = (submission: Submission, raw: RawObject): string =>
  renderObject([
    ...commonMembers(submission, raw),
    ['examinee', pick(raw.get('examinee'), ['id', 'email', 'name'])],
    ['metadata', pick(raw.get('metadata'), [...utmAndReferrer, 'ip', 'userAgent'])],
    ['data', raw.get('data')],
    ['reportResult', renderReport(raw.get('reportResult'))],
  ])

const commonMembers = (submission: Submission, raw: RawObject): (readonly [string, string | undefined])[] => [
  ['id', raw.get('id')],
  ['serialNumber', raw.get('serialNumber')],
  ['formId', raw.get('formId')],
  ['shareToken', raw.get('shareToken')],
  ['reportUrl', raw.get('reportUrl')],
  ['submittedAt', JSON.stringify(submission.submittedAt)],
  ['updatedAt', JSON.stringify(submission.updatedAt)],
]

function renderReport(raw: string | undefined): string | undefined {
  if (raw === undefined || raw === 'null') return undefined
  const report = rawMembers(raw)
  return renderObject([
    ['status', report.get('status')],
    ['overallAnalysis', pick(report.get('overallAnalysis'), ['score', 'maxScore', 'level', 'summary', 'suggestions'])],
    ['dimensionAnalysis', pick(report.get('dimensionAnalysis'), ['title', 'radar', 'items'])],
    ['outcome', pick(report.get('outcome'), ['code', 'name', 'ranking'])],
    ['aiSuggestion', pick(report.get('aiSuggestion'), ['status', 'content'])],
  ])
}

/** The named members of a raw object, missing ones as null; a missing or null object stays null. */
function pick(raw: string | undefined, names: readonly string[]): string | undefined {
  if (raw === undefined || raw === 'null') return undefined
  const members = rawMembers(raw)
  return renderObject(names.map((name) => [name, members.get(name)] as const))
}

import type { Json } from './randomHistory.ts'
import { wellFormed } from './wellFormed.ts'

/**
 * The API's representation of entities, with their members in the documented order, transcribed from the specification, independently
 * of the code under test.
 */

const utc = (text: string): string => new Date(text).toISOString()
const pick = (object: Json, names: string): Json =>
  object == null ? null : Object.fromEntries(names.split(' ').map((name) => [name, object[name] ?? null]))

const formSummaryNames = 'id title scene language publicToken shareUrl localization isActive createdAt updatedAt'
const utm = 'utmSource utmMedium utmCampaign utmTerm utmContent referrer'

const withUtc = (entity: Json): Json => ({
  ...entity,
  updatedAt: utc(entity.updatedAt),
  ...(entity.createdAt !== undefined && { createdAt: utc(entity.createdAt) }),
  ...(entity.submittedAt !== undefined && { submittedAt: utc(entity.submittedAt) }),
})

export const servedFormSummary = (form: Json): Json => wellFormed(pick(withUtc(form), formSummaryNames))

export const servedForm = (form: Json): Json =>
  wellFormed(pick(withUtc(form), `${formSummaryNames} description layout systemText fields report`))

const common = 'id serialNumber formId shareToken reportUrl submittedAt updatedAt'

export const servedSubmissionSummary = (entity: Json): Json => summaryOf(wellFormed(entity))
const summaryOf = (submission: Json): Json => ({
  ...pick(withUtc(submission), common),
  examinee: pick(submission.examinee, 'id examineeId email name customData'),
  metadata: pick(submission.metadata, utm),
  data: submission.data ?? null,
  result: pick(submission.result, 'status score maxScore level outcomeCode outcomeName'),
})

export const servedSubmission = (entity: Json): Json => detailOf(wellFormed(entity))
const detailOf = (submission: Json): Json => ({
  ...pick(withUtc(submission), common),
  examinee: pick(submission.examinee, 'id email name'),
  metadata: pick(submission.metadata, `${utm} ip userAgent`),
  data: submission.data ?? null,
  reportResult:
    submission.reportResult == null
      ? null
      : {
          status: submission.reportResult.status ?? null,
          overallAnalysis: pick(submission.reportResult.overallAnalysis, 'score maxScore level summary suggestions'),
          dimensionAnalysis: pick(submission.reportResult.dimensionAnalysis, 'title radar items'),
          outcome: pick(submission.reportResult.outcome, 'code name ranking'),
          aiSuggestion: pick(submission.reportResult.aiSuggestion, 'status content'),
        },
})

/** Sorts by creation time, then id, both descending. */
export const newestFirst = (entities: Json[]): Json[] => {
  const position = (entity: Json): string => `${utc(entity.createdAt ?? entity.submittedAt)}|${entity.id}`
  return entities.toSorted((a, b) => (position(a) < position(b) ? 1 : -1))
}

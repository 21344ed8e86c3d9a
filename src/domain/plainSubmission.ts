import { isUtf8 } from 'node:buffer'
import { z } from 'zod'
import { type ByteText, byteTextOf } from './byteText.ts'
import { type EntityId, isIdentifier, isRevision, type Revision } from './identifiers.ts'
import { type Instant, parseInstant } from './instant.ts'
import { PlainReader } from './plainJson.ts'
import { memberAt, renderPlain, shapeOf, stepsOf } from './plainShape.ts'
import { type ReportStatus, servedSubmission, servedSubmissionSummary, submissionSchema } from './submission.ts'

/** A live submission as its record tells of it, with its two renderings. */
export type PlainSubmission = {
  readonly revision: Revision
  readonly formId: string
  readonly status: ReportStatus
  readonly submittedAt: Instant
  readonly summary: ByteText
  readonly detail: ByteText
}

const envelope = shapeOf(z.object({ revision: z.number(), submission: submissionSchema }), [
  [['submission', servedSubmissionSummary]],
  [['submission', servedSubmission]],
])
const { slot: revisionSlot } = memberAt(envelope, 'revision')
const { shape = new Map() } = memberAt(envelope, 'submission')
const slotOf = (...path: string[]): number => memberAt(shape, ...path).slot
const slots = {
  id: slotOf('id'),
  formId: slotOf('formId'),
  submittedAt: slotOf('submittedAt'),
  updatedAt: slotOf('updatedAt'),
  status: slotOf('result', 'status'),
}
const summarySteps = stepsOf(servedSubmissionSummary, shape)
const detailSteps = stepsOf(servedSubmission, shape)

const reader = new PlainReader(envelope)

/**
 * Reads the value of a submission's record without parsing it, many times as fast as the careful way: what is served is copied
 * from its bytes. Undefined when the record is not plain, be it right or wrong: then the careful way judges it. What comes back
 * is what the careful way makes of the same record.
 */
export function readPlainSubmission(entityId: EntityId, value: Buffer): PlainSubmission | undefined {
  if (!isUtf8(value) || !reader.read(value, byteTextOf(value))) return undefined
  const [revision, formId] = [Number(reader.raw(revisionSlot)), reader.unescaped(slots.formId)]
  if (!isRevision(revision) || String(reader.unescaped(slots.id)) !== entityId) return undefined
  if (formId === undefined || !isIdentifier(formId)) return undefined
  const submittedAt = parseInstant(reader.unescaped(slots.submittedAt) ?? '')
  const updatedAt = parseInstant(reader.unescaped(slots.updatedAt) ?? '')
  if (submittedAt === undefined || updatedAt === undefined) return undefined
  const valueAt = (slot: number): string => {
    if (slot === slots.submittedAt) return `"${submittedAt}"`
    return slot === slots.updatedAt ? `"${updatedAt}"` : reader.raw(slot)
  }
  return {
    revision,
    formId,
    status: reader.unescaped(slots.status) as string as ReportStatus,
    submittedAt,
    summary: renderPlain(summarySteps, valueAt, reader),
    detail: renderPlain(detailSteps, valueAt, reader),
  }
}

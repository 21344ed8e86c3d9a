import { isUtf8 } from 'node:buffer'
import { z } from 'zod'
import { FastRenderer, type Replaced, stepsOf } from '../json/fastRenderer.ts'
import { FastScanner } from '../json/fastScanner.ts'
import { memberAt, shapeOf } from '../json/fastShape.ts'
import { type EntityId, isIdentifier, isRevision, type Revision } from './ids.ts'
import { type Instant, parseInstant } from './instant.ts'
import { type ReportStatus, servedSubmission, servedSubmissionSummary, submissionSchema } from './submission.ts'

/** A live submission, as far as its list document needs it, and its two served texts. */
export type RenderedSubmission = {
  readonly revision: Revision
  readonly formId: string
  readonly status: ReportStatus
  readonly submittedAt: Instant
  readonly summary: Buffer
  readonly detail: Buffer
}

const envelope = shapeOf(z.object({ revision: z.number(), submission: submissionSchema }), [
  [['submission', servedSubmissionSummary]],
  [['submission', servedSubmission]],
])
const { slot: revisionSlot } = memberAt(envelope, 'revision')
const { shape } = memberAt(envelope, 'submission')
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

const reader = new FastScanner(envelope)
const renderer = new FastRenderer()

/**
 * The fast path: renders a submission from the bytes of its record's value, without parsing them, many times as fast as the slow
 * path (`readSubmissionRecord` in change.ts, then `submissionWrites`), and with the same result. Undefined for a record that is
 * too unusual for `FastScanner`, valid or not: then the slow path validates it.
 */
export function readFastSubmission(entityId: EntityId, value: Buffer): RenderedSubmission | undefined {
  if (!isUtf8(value) || !reader.read(value)) return undefined
  const [revision, formId] = [Number(reader.asciiOf(revisionSlot)), unquoted(slots.formId)]
  if (!isRevision(revision) || unquoted(slots.id) !== entityId || !isIdentifier(formId)) return undefined
  const [submitted, updated] = [unquoted(slots.submittedAt), unquoted(slots.updatedAt)]
  const [submittedAt, updatedAt] = [parseInstant(submitted), parseInstant(updated)]
  if (submittedAt === undefined || updatedAt === undefined) return undefined
  const isAsServed = submittedAt === submitted && updatedAt === updated
  const replaced = isAsServed ? undefined : replacedBy(submittedAt, updatedAt)
  return {
    revision,
    formId,
    status: unquoted(slots.status) as ReportStatus,
    submittedAt,
    summary: renderer.render(summarySteps, reader, value, replaced),
    detail: renderer.render(detailSteps, reader, value, replaced),
  }
}

/** A string without its quotes. Escapes stay: with one, it is neither an identifier nor an instant. */
const unquoted = (slot: number): string => reader.asciiOf(slot).slice(1, -1)

const replacedBy = (submittedAt: Instant, updatedAt: Instant): Replaced =>
  new Map([
    [slots.submittedAt, Buffer.from(JSON.stringify(submittedAt))],
    [slots.updatedAt, Buffer.from(JSON.stringify(updatedAt))],
  ])

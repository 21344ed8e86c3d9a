import { rawMembers, renderObject, withoutRepeatedNames } from '../json/rawJson.ts'
import type { Change, RecordKey } from '../model/change.ts'
import type { RenderedSubmission } from '../model/fastSubmission.ts'
import { type Form, renderFormDetail, renderFormSummary } from '../model/form.ts'
import { type DocumentId, deletedRevision, documentId, type Revision, type TeamId } from '../model/ids.ts'
import type { Instant } from '../model/instant.ts'
import { renderSubmissionDetail, renderSubmissionSummary, type Submission } from '../model/submission.ts'
import { foldCharacters, titleSalt } from '../model/title.ts'
import { titleTerms } from '../model/titleTerms.ts'
import { foldTitle } from '../model/titleWords.ts'
import type { DocumentKind } from './indices.ts'

/** One document to index: its whole source, under an external version, which is the revision. */
export type DocumentWrite = {
  readonly kind: DocumentKind
  readonly id: DocumentId
  /** The routing value: all documents of a team share a shard. */
  readonly teamId: TeamId
  readonly version: Revision
  /** JSON on one line, in UTF-8. */
  readonly source: Buffer
}

/**
 * Surrounds the summary in the source of a list document, and occurs nowhere else in it, so that readers find summaries without
 * parsing the source. A tab is white space between JSON tokens.
 */
export const summaryDelimiter = '\t'

const delimited = (summary: string): string => summaryDelimiter + summary + summaryDelimiter

/**
 * Text that sorts as created time, then id. A keyword, not the date itself: with a numeric field in the index sort
 * Elasticsearch does not terminate early, and page 1 of a large team costs five times as much.
 */
const position = (createdAt: Instant, id: string): string => `${createdAt}|${id}`

/** The list and detail documents of a form's newest state. */
export function formWrites(change: Change<Form>, changedAt: Instant): DocumentWrite[] {
  if (change.live === null) return tombstones(change, ['forms', 'form-details'], changedAt)
  const { entity: form, raw, revision } = change.live
  const salt = titleSalt(change.teamId)
  const { words, joined, starts } = titleTerms(form.title)
  const salted = (terms: readonly string[]): string => JSON.stringify(terms.map((term) => salt + term).join(' '))
  const list = renderObject([
    ...listKeys(change.teamId, form.createdAt, form.id, changedAt),
    ['scene', JSON.stringify(form.scene)],
    ['titleRaw', JSON.stringify(salt + foldCharacters(form.title))],
    // A space precedes every word, so that a pattern can match at the start of words.
    ['titleFolded', JSON.stringify(`${salt} ${foldTitle(form.title)}`)],
    ['titleWords', salted(words)],
    ['titleJoined', salted(joined)],
    ['titleStarts', salted(starts)],
    ['summary', delimited(renderFormSummary(form, raw))],
  ])
  return [
    write('forms', change, revision, Buffer.from(list)),
    write('form-details', change, revision, Buffer.from(renderFormDetail(form, raw))),
  ]
}

/** The list and detail documents of a submission's newest state. */
export function submissionWrites(change: Change<Submission>, changedAt: Instant): DocumentWrite[] {
  if (change.live === null) return tombstones(change, ['submissions', 'submission-details'], changedAt)
  const { entity: submission, raw, revision } = change.live
  const { formId, submittedAt, result } = submission
  const summary = Buffer.from(renderSubmissionSummary(submission, raw))
  const detail = Buffer.from(renderSubmissionDetail(submission, raw))
  const rendered = { revision, formId, submittedAt, status: result.status, summary, detail }
  return renderedSubmissionWrites(change, rendered, changedAt)
}

/** The list and detail documents of a submission that is rendered already, by the fast path or the slow one. */
export function renderedSubmissionWrites(
  key: RecordKey,
  { revision, formId, status, submittedAt, summary, detail }: RenderedSubmission,
  changedAt: Instant,
): DocumentWrite[] {
  const order = `"teamId":"${key.teamId}","position":"${position(submittedAt, key.entityId)}"`
  const windows = `"createdAt":"${submittedAt}","changedAt":"${changedAt}"`
  // None of these values has characters that JSON escapes.
  const keys = `{${order},${windows},"formId":"${formId}","status":"${status}","summary":${summaryDelimiter}`
  const list = Buffer.allocUnsafe(keys.length + summary.length + listEnd.length)
  list.write(keys, 'latin1')
  summary.copy(list, keys.length)
  list.write(listEnd, keys.length + summary.length, 'latin1')
  return [write('submissions', key, revision, list), write('submission-details', key, revision, detail)]
}

const listEnd = `${summaryDelimiter}}`

const listKeys = (
  teamId: TeamId,
  createdAt: Instant,
  id: string,
  changedAt: Instant,
): (readonly [string, string])[] => [
  ['teamId', JSON.stringify(teamId)],
  ['position', JSON.stringify(position(createdAt, id))],
  ['createdAt', JSON.stringify(createdAt)],
  ['changedAt', JSON.stringify(changedAt)],
]

const write = (
  kind: DocumentKind,
  { teamId, entityId }: RecordKey,
  version: Revision,
  source: Buffer,
): DocumentWrite => ({
  kind,
  id: documentId(teamId, entityId),
  teamId,
  version,
  source,
})

/** The source of a list document with another `changedAt`, or of its tombstone with another instant of deletion. */
export const withChangedAt = (source: Buffer, changedAt: Instant): Buffer =>
  // Members of our own come before the first one whose text is from the record.
  Buffer.from(source.toString().replace(/"(changedAt|deletedAt)":"[^"]*"/, `"$1":"${changedAt}"`))

/** The same document with every member name once: Elasticsearch rejects repeated names. */
export const withNamesOnce = (document: DocumentWrite): DocumentWrite => ({
  ...document,
  source: Buffer.from(
    renderObject(
      [...rawMembers(document.source.toString())].map(([name, raw]) => {
        const once = withoutRepeatedNames(raw)
        return [name, name === 'summary' ? delimited(once) : once]
      }),
    ),
  ),
})

/**
 * A deletion is indexed as a document, with a version above every revision: Elasticsearch forgets the versions of deleted documents
 * after a minute, and an older record that arrives later would bring the entity back. No query searches its members.
 */
function tombstones<Entity>(change: Change<Entity>, kinds: DocumentKind[], deletedAt: Instant): DocumentWrite[] {
  const source = Buffer.from(`${tombstoneStart}${JSON.stringify({ teamId: change.teamId, deletedAt })}}`)
  return kinds.map((kind) => write(kind, change, deletedRevision, source))
}

const tombstoneStart = '{"tombstone":'

/** Whether a document's source is a tombstone. */
export const isTombstone = (source: Buffer): boolean =>
  source.subarray(0, tombstoneStart.length).equals(tombstoneStartBytes)

const tombstoneStartBytes = Buffer.from(tombstoneStart)

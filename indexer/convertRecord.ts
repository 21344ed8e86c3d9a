import type { Config } from '../src/core/config/config.ts'
import {
  isTombstone,
  largeBytes,
  position,
  summaryDelimiter,
  tombstoneStart,
} from '../src/core/elasticsearch/documentFormat.ts'
import { type DocumentKind, isList, kindsOf } from '../src/core/elasticsearch/indices.ts'
import { rawMembers, renderObject, withoutRepeatedNames } from '../src/core/json/rawJson.ts'
import type { SourceRecord } from '../src/core/kafka/sourceRecord.ts'
import type { AccountKeyState } from '../src/core/model/accountKey.ts'
import { answerTerms } from '../src/core/model/answers.ts'
import { foldCharacters } from '../src/core/model/foldCharacters.ts'
import {
  type DocumentId,
  deletedRevision,
  documentId,
  type EntityType,
  type Revision,
  type TeamId,
  type TeamList,
  teamList,
} from '../src/core/model/ids.ts'
import { type Instant, toInstant } from '../src/core/model/instant.ts'
import { type LogPosition, logPosition } from '../src/core/model/logPosition.ts'
import {
  type Change,
  type FoundBy,
  type RecordKey,
  type RenderedForm,
  type RenderedSubmission,
  readAccountKeyRecord,
  readFormRecord,
  readSubmissionRecord,
} from '../src/core/model/record.ts'
import type { Problem, Result } from '../src/core/model/schema.ts'
import { partsOfScore } from '../src/core/model/score.ts'
import { foldTitle, titleSalt, titleTerms } from '../src/core/model/titles.ts'

export type DocumentWrite = {
  readonly kind: DocumentKind
  readonly id: DocumentId
  readonly teamId: TeamId
  readonly version: Revision
  /** JSON on one line, in UTF-8. */
  source: Buffer
  /** Set if the write also replaces a stored document of the same version. */
  readonly replacesSameVersion?: true
  /** Of the record's content; only set for a list document that is no tombstone. */
  readonly digest?: string
}

export type Documents = readonly DocumentWrite[]

export type AppendInfo = { readonly changedAt: Instant; readonly logPosition: LogPosition }

type Conversion =
  | {
      readonly kind: 'documents'
      readonly documents: DocumentWrite[]
      readonly list: TeamList
    }
  | { readonly kind: 'account-key'; readonly change: RecordKey & AccountKeyState }
  | { readonly kind: 'rejected'; readonly problem: Problem }

type ConversionConfig = Pick<Config, 'TOPIC_FORMS' | 'TOPIC_SUBMISSIONS' | 'INDEX_ANSWERS'>

/** Validates a record by the contract of its topic, and converts it. Never throws. */
export function convertRecord(record: SourceRecord, config: ConversionConfig): Conversion {
  const { topic, key, value } = record
  if (topic === config.TOPIC_FORMS) return toDocuments('forms', record, readFormRecord(key, value), formWrites)
  if (topic === config.TOPIC_SUBMISSIONS)
    return toDocuments('submissions', record, readSubmissionRecord(key, value), (change, appendInfo) =>
      submissionWrites(change, appendInfo, config.INDEX_ANSWERS),
    )
  const result = readAccountKeyRecord(key, value)
  return result.ok ? { kind: 'account-key', change: result.value } : { kind: 'rejected', problem: result.problem }
}

function toDocuments<Entity>(
  type: EntityType,
  record: SourceRecord,
  parsed: Result<Change<Entity>>,
  writesOf: (change: Change<Entity>, appendInfo: AppendInfo) => DocumentWrite[],
): Conversion {
  if (!parsed.ok) return { kind: 'rejected', problem: parsed.problem }
  const change = parsed.value
  const appendInfo = { changedAt: toInstant(record.appendedAtMs), logPosition: logPosition(record) }
  return { kind: 'documents', documents: writesOf(change, appendInfo), list: teamList(type, change.teamId) }
}

/** The documents of a form; tombstones if it was deleted. */
export function formWrites(change: Change<RenderedForm>, appendInfo: AppendInfo): DocumentWrite[] {
  if (change.live === null) return tombstones(change, kindsOf.forms, appendInfo)
  const { revision, entity: form } = change.live
  // Each title term begins with a salt of the team: a query skips most terms of other teams.
  const salt = titleSalt(change.teamId)
  const { words, joined, starts } = titleTerms(form.title)
  const salted = (terms: readonly string[]): string => terms.map((term) => salt + term).join(' ')
  const searchMembers = JSON.stringify({
    scene: form.scene,
    titleRaw: salt + foldCharacters(form.title),
    // A space precedes every word, so that a pattern can match at the start of words.
    titleFolded: `${salt} ${foldTitle(form.title)}`,
    titleWords: salted(words),
    titleJoined: salted(joined),
    titleStarts: salted(starts),
  })
  const { createdAt, digest, detail } = form
  const withDigest = `"digest":"${digest}",${searchMembers.slice(1, -1)}`
  const list = listDocument(change, createdAt, appendInfo, withDigest, form)
  return [
    { ...documentWrite('forms', change, revision, list), digest },
    documentWrite('form-details', change, revision, detail),
  ]
}

/** The documents of a submission; tombstones if it was deleted. `hasAnswers`: answers are indexed. */
export function submissionWrites(change: Change<RenderedSubmission>, appendInfo: AppendInfo, hasAnswers: boolean) {
  if (change.live === null) return tombstones(change, kindsOf.submissions, appendInfo)
  const { revision, entity } = change.live
  const { formId, status, submittedAt, foundBy, detail, digest } = entity
  const searchMembers = `"digest":"${digest}","formId":"${formId}","status":"${status}",${foundByMembers(foundBy, hasAnswers)}`
  const list = listDocument(change, submittedAt, appendInfo, searchMembers, entity)
  return [
    { ...documentWrite('submissions', change, revision, list), digest },
    documentWrite('submission-details', change, revision, detail),
  ]
}

/** Such as `"answers":[…],"scoreParts":[…]`. */
const foundByMembers = ({ data, score }: FoundBy, hasAnswers: boolean): string =>
  `${hasAnswers ? `"answers":${answerTerms(data)},` : ''}"scoreParts":${partsOfScore(Number(score))}`

/**
 * Such as `{"teamId":…,"position":…,"createdAt":…,"changedAt":…,"logPosition":…,<searchMembers>,"summary":<delimiter>{…}<delimiter>}`. `"large":{…}` precedes
 * the summary of a large entity. Ids and instants need no escapes in JSON.
 */
function listDocument(
  { teamId, entityId }: RecordKey,
  createdAt: Instant,
  appendInfo: AppendInfo,
  searchMembers: string,
  { summary, detail }: Pick<RenderedForm, 'summary' | 'detail'>,
): Buffer {
  // `position` is the sort key of lists, `logPosition` that of change feeds.
  const sortMembers = `"teamId":"${teamId}","position":"${position(createdAt, entityId)}"`
  const timeMembers = `"createdAt":"${createdAt}","changedAt":"${appendInfo.changedAt}","logPosition":${appendInfo.logPosition}`
  // A search returns `searchMembers`, too, which are long for a long title.
  const rowBytes = Buffer.byteLength(searchMembers) + summary.length
  const largeParts = [
    ...largePartMembers(teamId, 'summary', rowBytes),
    ...largePartMembers(teamId, 'detail', detail.length),
  ]
  const largeMember = largeParts.length === 0 ? '' : `"large":{${largeParts.join()}},`
  const start = `{${sortMembers},${timeMembers},${searchMembers},${largeMember}"summary":${summaryDelimiter}`
  const startBytes = Buffer.byteLength(start)
  const list = Buffer.allocUnsafe(startBytes + summary.length + listEnd.length)
  list.write(start)
  summary.copy(list, startBytes)
  list.write(listEnd, startBytes + summary.length)
  return list
}

/** Such as `"detailOf":"acme"` and `"detailBytes":"70000"`. By `detailOf`, a search finds the team's rows with a large detail. */
const largePartMembers = (teamId: TeamId, part: 'summary' | 'detail', bytes: number): readonly string[] =>
  bytes > largeBytes ? [`"${part}Of":"${teamId}"`, `"${part}Bytes":"${bytes}"`] : []

const listEnd = `${summaryDelimiter}}`

/** Copies a source that waits for a retry out of its shared buffer, so that the sources of finished documents do not stay in memory. */
export function copySource(document: DocumentWrite): void {
  const { source } = document
  const isWholeBuffer = source.length === source.buffer.byteLength
  if (isWholeBuffer) return
  document.source = Buffer.allocUnsafeSlow(source.length)
  source.copy(document.source)
}

function documentWrite(
  kind: DocumentKind,
  { teamId, entityId }: RecordKey,
  version: Revision,
  source: Buffer,
): DocumentWrite {
  return { kind, id: documentId(teamId, entityId), teamId, version, source }
}

/**
 * The position of a live list document that a rebuild copied from the former generation, because the topic is another log now and may lack its record. Only the
 * first record of partition 0 has the same position.
 */
export const carriedOver = 0 as LogPosition

/**
 * A carried-over document gets the position `carriedOver`; a tombstone gets none, since followers start anew, and need no earlier deletion. If tombstones had
 * position 0, a page of a change feed could end among them, and the next page would skip the others, and a deletion that is the first record of partition 0.
 */
export const asCarriedOver = (source: Buffer): Buffer =>
  Buffer.from(
    isTombstone(source)
      ? source.toString().replace(/,"logPosition":\d+\}$/, '}')
      : source.toString().replace(/"logPosition":\d+/, `"logPosition":${carriedOver}`),
  )

/** Recomputes the search members of a submission if an earlier release, or a process with another `INDEX_ANSWERS` (`hasAnswers`), has written them. */
export function renewSearchMembers(document: DocumentWrite, hasAnswers: boolean): DocumentWrite {
  if (document.kind !== 'submissions') return document
  const members = new Map(rawMembers(document.source.toString()))
  const summary = members.get('summary')
  if (summary === undefined) return document
  const isUpToDate = members.has('scoreParts') && members.has('answers') === hasAnswers
  if (isUpToDate) return document
  for (const name of ['answers', 'scoreParts', 'summary']) members.delete(name)
  const summaryMembers = rawMembers(summary)
  const score = rawMembers(summaryMembers.get('result') ?? '').get('score') ?? ''
  const foundBy = rawMembers(`{${foundByMembers({ data: summaryMembers.get('data') ?? '', score }, hasAnswers)}}`)
  return { ...document, source: sourceOf([...members, ...foundBy, ['summary', summary]]) }
}

/** The document without repeated JSON names, such as the first `"a"` of `{"a":1,"a":2}`, which Elasticsearch rejects. */
export function withNamesOnce(document: DocumentWrite): DocumentWrite {
  const members = [...rawMembers(document.source.toString())]
  return { ...document, source: sourceOf(members.map(([name, raw]) => [name, withoutRepeatedNames(raw)])) }
}

/** Values are unparsed JSON. */
function sourceOf(members: readonly (readonly [name: string, raw: string])[]): Buffer {
  const delimited = (raw: string): string => summaryDelimiter + raw + summaryDelimiter
  return Buffer.from(renderObject(members.map(([name, raw]) => [name, name === 'summary' ? delimited(raw) : raw])))
}

/**
 * The documents that replace those of a deleted entity. If they were deleted instead, Elasticsearch would forget their versions after a minute, and a late
 * record with a lower revision would bring the entity back. A rebuild has no `logPosition` for a deletion that Kafka removed before it was read.
 */
export function tombstones(
  key: RecordKey,
  kinds: readonly DocumentKind[],
  appendInfo: Pick<AppendInfo, 'changedAt'> & Partial<AppendInfo>,
): DocumentWrite[] {
  const { changedAt: deletedAt, logPosition: recordPosition } = appendInfo
  const tombstone = `${tombstoneStart}${JSON.stringify({ teamId: key.teamId, deletedAt })}`
  return kinds.map((kind) => {
    const positionMember = isList(kind) && recordPosition !== undefined ? `,"logPosition":${recordPosition}` : ''
    return documentWrite(kind, key, deletedRevision, Buffer.from(`${tombstone}${positionMember}}`))
  })
}

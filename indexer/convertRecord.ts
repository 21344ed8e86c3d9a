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

/** One document to index. Its external version is the record's revision, or `deletedRevision`. */
export type DocumentWrite = {
  readonly kind: DocumentKind
  readonly id: DocumentId
  /** The routing value: all documents of a team in an index are in one shard. */
  readonly teamId: TeamId
  readonly version: Revision
  /** The whole document: JSON on one line, in UTF-8. */
  source: Buffer
  readonly replacesSameVersion?: true
  /** The digest of the record's content, for a live list document that was made from a record. */
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
  result: Result<Change<Entity>>,
  writes: (change: Change<Entity>, appendInfo: AppendInfo) => DocumentWrite[],
): Conversion {
  if (!result.ok) return { kind: 'rejected', problem: result.problem }
  const documents = writes(result.value, {
    changedAt: toInstant(record.appendedAtMs),
    logPosition: logPosition(record),
  })
  return { kind: 'documents', documents, list: teamList(type, result.value.teamId) }
}

export function formWrites(change: Change<RenderedForm>, appendInfo: AppendInfo): DocumentWrite[] {
  if (change.live === null) return tombstones(change, kindsOf.forms, appendInfo)
  const { revision, entity: form } = change.live
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
  const { digest } = form
  const list = listDocument(
    change,
    form.createdAt,
    appendInfo,
    `"digest":"${digest}",${searchMembers.slice(1, -1)}`,
    form,
  )
  return [{ ...write('forms', change, revision, list), digest }, write('form-details', change, revision, form.detail)]
}

export function submissionWrites(change: Change<RenderedSubmission>, appendInfo: AppendInfo, hasAnswers: boolean) {
  if (change.live === null) return tombstones(change, kindsOf.submissions, appendInfo)
  const { revision, entity } = change.live
  const { formId, status, submittedAt, foundBy, detail, digest } = entity
  const searchMembers = `"digest":"${digest}","formId":"${formId}","status":"${status}",${foundByMembers(foundBy, hasAnswers)}`
  const list = listDocument(change, submittedAt, appendInfo, searchMembers, entity)
  return [
    { ...write('submissions', change, revision, list), digest },
    write('submission-details', change, revision, detail),
  ]
}

/** The members by which a search finds a submission. `hasAnswers`: answers are indexed. */
const foundByMembers = ({ data, score }: FoundBy, hasAnswers: boolean): string =>
  `${hasAnswers ? `"answers":${answerTerms(data)},` : ''}"scoreParts":${partsOfScore(Number(score))}`

/** The source of a list document: the members of every list document, `searchMembers` of its kind, summary. Ids and instants need no escapes in JSON. */
function listDocument(
  { teamId, entityId }: RecordKey,
  createdAt: Instant,
  appendInfo: AppendInfo,
  searchMembers: string,
  { summary, detail }: Pick<RenderedForm, 'summary' | 'detail'>,
): Buffer {
  const order = `"teamId":"${teamId}","position":"${position(createdAt, entityId)}"`
  const times = `"createdAt":"${createdAt}","changedAt":"${appendInfo.changedAt}","logPosition":${appendInfo.logPosition}`
  // A search returns `searchMembers`, too: those of a long title are several times its length.
  const rowBytes = Buffer.byteLength(searchMembers) + summary.length
  const large = [...largePart(teamId, 'summary', rowBytes), ...largePart(teamId, 'detail', detail.length)]
  const largeMember = large.length === 0 ? '' : `"large":{${large.join()}},`
  const start = `{${order},${times},${searchMembers},${largeMember}"summary":${summaryDelimiter}`
  const startBytes = Buffer.byteLength(start)
  const list = Buffer.allocUnsafe(startBytes + summary.length + listEnd.length)
  list.write(start)
  summary.copy(list, startBytes)
  list.write(listEnd, startBytes + summary.length)
  return list
}

/** By `<part>Of`, a search finds the rows of the team with a large part; `<part>Bytes` is its size. */
const largePart = (teamId: TeamId, part: 'summary' | 'detail', bytes: number): readonly string[] =>
  bytes > largeBytes ? [`"${part}Of":"${teamId}"`, `"${part}Bytes":"${bytes}"`] : []

const listEnd = `${summaryDelimiter}}`

/** Copies the source of a document that waits for a retry: a slice would keep the whole buffer, shared with finished documents, in memory. */
export function copySource(document: DocumentWrite): void {
  const { source } = document
  if (source.length === source.buffer.byteLength) return
  document.source = Buffer.allocUnsafeSlow(source.length)
  source.copy(document.source)
}

function write(kind: DocumentKind, { teamId, entityId }: RecordKey, version: Revision, source: Buffer): DocumentWrite {
  return { kind, id: documentId(teamId, entityId), teamId, version, source }
}

/** The position of a live list document that a rebuild copied from a replaced log. Only the first record of partition 0 has the same position. */
export const carriedOver = 0 as LogPosition

/**
 * The source of a list document that a rebuild copies from a replaced log. A live document gets the position `carriedOver`. A tombstone gets no position:
 * followers start anew, and need no earlier deletion. If many tombstones had position 0, a page of a change feed could end among them. They have no second sort
 * key, so the next page would skip the rest, and a deletion that is the first record of partition 0.
 */
export const asCarriedOver = (source: Buffer): Buffer =>
  Buffer.from(
    isTombstone(source)
      ? source.toString().replace(/,"logPosition":\d+\}$/, '}')
      : source.toString().replace(/"logPosition":\d+/, `"logPosition":${carriedOver}`),
  )

/**
 * Recomputes the search members of a submission's list document, if an earlier release, or a process with another `INDEX_ANSWERS` (`hasAnswers`), has written
 * it. Returns other documents unchanged.
 */
export function renewSearchMembers(document: DocumentWrite, hasAnswers: boolean): DocumentWrite {
  if (document.kind !== 'submissions') return document
  const members = new Map(rawMembers(document.source.toString()))
  const summary = members.get('summary')
  if (summary === undefined) return document
  if (members.has('scoreParts') && members.has('answers') === hasAnswers) return document
  for (const name of ['answers', 'scoreParts', 'summary']) members.delete(name)
  const summaryMembers = rawMembers(summary)
  const score = rawMembers(summaryMembers.get('result') ?? '').get('score') ?? ''
  const foundBy = rawMembers(`{${foundByMembers({ data: summaryMembers.get('data') ?? '', score }, hasAnswers)}}`)
  return { ...document, source: sourceOf([...members, ...foundBy, ['summary', summary]]) }
}

/** The same document without repeated member names, which Elasticsearch rejects. */
export function withNamesOnce(document: DocumentWrite): DocumentWrite {
  const members = [...rawMembers(document.source.toString())]
  return { ...document, source: sourceOf(members.map(([name, raw]) => [name, withoutRepeatedNames(raw)])) }
}

function sourceOf(members: readonly (readonly [name: string, raw: string])[]): Buffer {
  const delimited = (raw: string): string => summaryDelimiter + raw + summaryDelimiter
  return Buffer.from(renderObject(members.map(([name, raw]) => [name, name === 'summary' ? delimited(raw) : raw])))
}

/**
 * The documents of a deletion, with a version above every revision. If Elasticsearch deleted them, it would forget their versions after a minute, and a record
 * with a lower revision that arrives later would bring the entity back. Where Kafka removed a deletion before it was read, a rebuild writes tombstones without
 * a position; followers start anew.
 */
export function tombstones(
  key: RecordKey,
  kinds: readonly DocumentKind[],
  { changedAt: deletedAt, logPosition: at }: Pick<AppendInfo, 'changedAt'> & Partial<AppendInfo>,
): DocumentWrite[] {
  const tombstone = `${tombstoneStart}${JSON.stringify({ teamId: key.teamId, deletedAt })}`
  return kinds.map((kind) => {
    const position = isList(kind) && at !== undefined ? `,"logPosition":${at}` : ''
    return write(kind, key, deletedRevision, Buffer.from(`${tombstone}${position}}`))
  })
}

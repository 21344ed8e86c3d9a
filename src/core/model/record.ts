import { isUtf8 } from 'node:buffer'
import type { z } from 'zod'
import { asIJson } from '../json/iJson.ts'
import { RecordRenderer, type Rendered } from '../json/renderer.ts'
import { maxDepth, maxNumberCharacters } from '../json/scanner.ts'
import { accountKeySchema } from './accountKey.ts'
import { type Form, formSchema, servedForm, servedFormSummary } from './form.ts'
import {
  deletedRevision,
  type EntityId,
  identifierRule,
  isIdentifier,
  isRevision,
  maxRevision,
  type Revision,
  type TeamId,
} from './ids.ts'
import { parseInstant } from './instant.ts'
import { accepted, attempt, isObject, type Result, refused } from './schema.ts'
import {
  type ReportStatus,
  reportStatuses,
  type Submission,
  servedSubmission,
  servedSubmissionSummary,
  submissionSchema,
} from './submission.ts'

/* Checks records, and makes the JSON that the API serves. Most submissions are read without parsing their JSON. */

export type RecordKey = { readonly teamId: TeamId; readonly entityId: EntityId }

type LiveState<Entity> = { readonly revision: Revision; readonly entity: Entity }

/** `live`: null for a deletion, which no later record undoes. */
export type Change<Entity> = RecordKey & { readonly live: LiveState<Entity> | null }

/** Members from which `answers.ts` and `score.ts` make search keys; empty if missing or null. */
export type FoundBy = Readonly<Record<'data' | 'score', string>>

export type RenderedForm = Form & Rendered
export type RenderedSubmission = Pick<Submission, 'id' | 'formId' | 'submittedAt'> & {
  status: ReportStatus
  foundBy: FoundBy
} & Rendered

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

const formRenderer = new RecordRenderer('form', formSchema, { summary: servedFormSummary, detail: servedForm })

const submissionRenderer = new RecordRenderer('submission', submissionSchema, {
  summary: servedSubmissionSummary,
  detail: servedSubmission,
})

export const readFormRecord = parserOf<RenderedForm>('form', (value) =>
  readNormalised('form', formSchema, formRenderer, value, (form) => {
    const { createdAt, updatedAt } = form
    return { ...form, ...formRenderer.render({ createdAt, updatedAt }) }
  }),
)
export const readSubmissionRecord = parserOf<RenderedSubmission>(
  'submission',
  (value) =>
    readPlainSubmission(value) ??
    readNormalised('submission', submissionSchema, submissionRenderer, value, (submission) => {
      const { id, formId, submittedAt, updatedAt, result } = submission
      const rendered = submissionRenderer.render({ submittedAt, updatedAt })
      return { id, formId, submittedAt, status: result.status, foundBy: scannedFoundBy(), ...rendered }
    }),
)

/** Makes the parser of records with the key `<teamId>/<entityId>` and the value null or `{"revision": …, "<member>": {…}}`. */
function parserOf<Entity extends { id: string } | null>(
  member: string,
  read: (value: Buffer) => Result<LiveState<Entity>>,
) {
  return (recordKey: Buffer | null, value: Buffer | null): Result<Change<Entity>> => {
    const key = readKey(recordKey)
    if (!key.ok) return key
    if (value === null) return accepted({ ...key.value, live: null })
    const live = read(asIJson(value))
    if (!live.ok) return live
    const { entity } = live.value
    if (entity !== null && entity.id !== key.value.entityId)
      return refused(`${member}.id`, 'must be the id in the record key')
    return accepted({ ...key.value, live: live.value })
  }
}

const readChangedKey = parserOf('key', (value) => readValue('key', accountKeySchema.nullable(), value))

/** Two records delete a key: the value `{"revision": …, "key": null}`, and a tombstone, which compaction removes after `delete.retention.ms`. */
export function readAccountKeyRecord(recordKey: Buffer | null, value: Buffer | null) {
  const read = readChangedKey(recordKey, value)
  if (!read.ok) return read
  const { live, ...key } = read.value
  return accepted({ ...key, revision: live?.revision ?? deletedRevision, key: live?.entity ?? null })
}

export function readKey(key: Buffer | null): Result<RecordKey> {
  const text = key === null ? undefined : attempt(() => utf8.decode(key))
  if (text === undefined) return refused('key', 'must be <teamId>/<id> in UTF-8')
  const slash = text.indexOf('/')
  const teamId = text.slice(0, Math.max(slash, 0))
  const entityId = text.slice(slash + 1)
  if (slash === -1) return refused('key', 'must be <teamId>/<id>')
  if (!isIdentifier(teamId)) return refused('key', `teamId must be ${identifierRule}`)
  if (!isIdentifier(entityId)) return refused('key', `id must be ${identifierRule}`)
  return accepted({ teamId: teamId as TeamId, entityId: entityId as EntityId })
}

function readValue<Entity>(member: string, schema: z.ZodType<Entity>, value: Buffer) {
  const text = attempt(() => utf8.decode(value))
  if (text === undefined) return refused('value', 'must be UTF-8')
  const record: unknown = attempt(() => JSON.parse(text))
  if (record === undefined) return refused('value', 'must be JSON')
  if (!isObject(record)) return refused('value', 'must be a JSON object')
  const { revision } = record
  if (!isRevision(revision)) return refused('revision', `must be an integer from 1 to ${maxRevision}`)
  const { data, error } = schema.safeParse(record[member])
  const issue = error?.issues[0]
  if (issue !== undefined) return refused([member, ...issue.path.map(String)].join('.'), issue.message)
  return accepted({ revision, entity: data as Entity, text })
}

/** Under these numbers the scanner stores where values are. */
const ordinalOf = (...path: string[]): number => submissionRenderer.ordinalOf('submission', ...path)
const ordinals = {
  revision: submissionRenderer.ordinalOf('revision'),
  id: ordinalOf('id'),
  formId: ordinalOf('formId'),
  submittedAt: ordinalOf('submittedAt'),
  updatedAt: ordinalOf('updatedAt'),
  status: ordinalOf('result', 'status'),
  reportStatus: ordinalOf('reportResult', 'status'),
  data: ordinalOf('data'),
  score: ordinalOf('result', 'score'),
}

function scannedFoundBy(): FoundBy {
  const { scanner } = submissionRenderer
  const { data, score } = ordinals
  // Answers may have characters beyond Latin-1, in which `textOf` decodes.
  const answers = scanner.has(data) ? scanner.bytes.toString('utf8', scanner.startOf(data), scanner.endOf(data)) : ''
  return { data: answers, score: scanner.textOf(score) }
}

/**
 * Fast path. Undefined for a value that is not simple JSON (`scanner.ts`) or breaks the contract: `readNormalised` then reads it again. The scanner checks JSON
 * types, this function all other rules.
 */
function readPlainSubmission(value: Buffer): Result<LiveState<RenderedSubmission>> | undefined {
  const { scanner } = submissionRenderer
  if (!isUtf8(value) || !scanner.read(value)) return undefined
  // Text with an escape is not decoded, and fails the checks below.
  const stringAt = (ordinal: number): string => scanner.textOf(ordinal).slice(1, -1)
  const id = stringAt(ordinals.id)
  const formId = stringAt(ordinals.formId)
  const status = stringAt(ordinals.status)
  const revision = Number(scanner.textOf(ordinals.revision))
  if (!isRevision(revision) || !isIdentifier(id) || !isIdentifier(formId) || !isReportStatus(status)) return undefined
  if (scanner.has(ordinals.reportStatus) && !isReportStatus(stringAt(ordinals.reportStatus))) return undefined
  const rawSubmittedAt = stringAt(ordinals.submittedAt)
  const rawUpdatedAt = stringAt(ordinals.updatedAt)
  const submittedAt = parseInstant(rawSubmittedAt)
  const updatedAt = parseInstant(rawUpdatedAt)
  if (submittedAt === undefined || updatedAt === undefined) return undefined
  const isAsServed = submittedAt === rawSubmittedAt && updatedAt === rawUpdatedAt
  const rendered = submissionRenderer.render(isAsServed ? undefined : { submittedAt, updatedAt })
  return accepted({ revision, entity: { id, formId, submittedAt, status, foundBy: scannedFoundBy(), ...rendered } })
}

const isReportStatus = (text: string): text is ReportStatus => (reportStatuses as readonly string[]).includes(text)

/**
 * Rewrites a value as simple JSON, and renders it. Refuses a member that is nested too deep or has too long a number for Elasticsearch. (In the list document,
 * it is nested as deep as in the record.)
 */
function readNormalised<Entity, Read>(
  member: string,
  schema: z.ZodType<Entity>,
  renderer: RecordRenderer,
  value: Buffer,
  render: (entity: Entity) => Read,
): Result<LiveState<Read>> {
  const read = readValue(member, schema, value)
  if (!read.ok) return read
  const { revision, entity, text } = read.value
  const refusedPath = renderer.scanNormalised(text)
  if (refusedPath === undefined) return accepted({ revision, entity: render(entity) })
  const depth = `must not be nested deeper than ${maxDepth - refusedPath.length} levels`
  return refused(refusedPath.join('.'), `${depth}, nor hold a number of more than ${maxNumberCharacters} characters`)
}

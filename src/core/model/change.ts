import type { z } from 'zod'
import { hasLongerNumber, isNestedDeeper, type RawObject, rawMembers, withoutTabs } from '../json/rawJson.ts'
import { type AccountKey, accountKeySchema } from './accountKey.ts'
import { type Form, formSchema } from './form.ts'
import {
  type EntityId,
  identifierRule,
  isIdentifier,
  isRevision,
  maxRevision,
  type Revision,
  type TeamId,
} from './ids.ts'
import { accepted, type Problem, type Result, refused } from './result.ts'
import { isObject } from './schema.ts'
import { type Submission, submissionSchema } from './submission.ts'

/** The team and entity that a record is about. A record with a null value has nothing else. */
export type RecordKey = { readonly teamId: TeamId; readonly entityId: EntityId }

/** A live entity: validated, and as the raw text of its members, without tabs and line breaks, which is what is served. */
export type Live<Entity> = { readonly revision: Revision; readonly entity: Entity; readonly raw: RawObject }

/** The change in one record: the entity's whole new state, or null when it is deleted for good. */
export type Change<Entity> = RecordKey & { readonly live: Live<Entity> | null }

/**
 * Elasticsearch accepts 1,000 levels of nesting and numbers of 1,000 characters. A member is two levels deep in its list document.
 * A record that Elasticsearch would reject for one of its two documents is refused before either is indexed.
 */
const maxMemberDepth = 998
const maxNumberCharacters = 1_000

type Schema<Entity> = z.ZodType<Entity> & { readonly shape: Readonly<Record<string, unknown>> }

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export const readFormRecord = reader<Form>('form', formSchema)
export const readSubmissionRecord = reader<Submission>('submission', submissionSchema)
export const readAccountKeyRecord = reader<AccountKey>('key', accountKeySchema)

/**
 * Makes the reader of one topic's records: key `<teamId>/<entityId>`, value null or `{"revision": …, "<member>": {…}}` in UTF-8 JSON.
 * It never throws: a record that breaks the contract is refused with the path of its first problem.
 */
function reader<Entity extends { id: string }>(member: string, schema: Schema<Entity>) {
  return (key: Buffer | null, value: Buffer | null): Result<Change<Entity>> => {
    const read = readKey(key)
    if (!read.ok) return read
    if (value === null) return accepted({ ...read.value, live: null })
    const live = readValue(member, schema, value)
    if (!live.ok) return live
    if (live.value.entity.id !== read.value.entityId) return refused(`${member}.id`, 'must be the id in the record key')
    return accepted({ ...read.value, live: live.value })
  }
}

/** Parses a record key, `<teamId>/<entityId>`. */
export function readKey(key: Buffer | null): Result<RecordKey> {
  const text = key === null ? undefined : decode(key)
  if (text === undefined) return refused('key', 'must be <teamId>/<id> in UTF-8')
  const slash = text.indexOf('/')
  const teamId = text.slice(0, Math.max(slash, 0))
  const entityId = text.slice(slash + 1)
  if (slash === -1) return refused('key', 'must be <teamId>/<id>')
  if (!isIdentifier(teamId)) return refused('key', `teamId must be ${identifierRule}`)
  if (!isIdentifier(entityId)) return refused('key', `id must be ${identifierRule}`)
  return accepted({ teamId: teamId as TeamId, entityId: entityId as EntityId })
}

function readValue<Entity>(member: string, schema: Schema<Entity>, value: Buffer): Result<Live<Entity>> {
  const text = decode(value)
  if (text === undefined) return refused('value', 'must be UTF-8')
  const parsed = parse(text)
  if (parsed === undefined) return refused('value', 'must be JSON')
  if (!isObject(parsed.json)) return refused('value', 'must be a JSON object')
  const revision = parsed.json['revision']
  if (!isRevision(revision)) return refused('revision', `must be an integer from 1 to ${maxRevision}`)
  const validated = schema.safeParse(parsed.json[member])
  if (!validated.success) return { ok: false, problem: firstProblem(member, validated.error) }
  const raw = rawMembers(rawMembers(withoutTabs(text)).get(member) ?? '')
  const problem = firstUnstorable(member, Object.keys(schema.shape), raw, text)
  return problem === undefined ? accepted({ revision, entity: validated.data, raw }) : { ok: false, problem }
}

/** The first documented member that Elasticsearch would reject; undocumented members are not indexed. */
function firstUnstorable(member: string, names: readonly string[], raw: RawObject, text: string): Problem | undefined {
  if (!isNestedDeeper(text, maxMemberDepth) && !hasLongerNumber(text, maxNumberCharacters)) return undefined
  for (const name of names) {
    const value = raw.get(name) ?? ''
    const path = `${member}.${name}`
    if (isNestedDeeper(value, maxMemberDepth))
      return { path, rule: `must not be nested deeper than ${maxMemberDepth} levels` }
    if (hasLongerNumber(value, maxNumberCharacters))
      return { path, rule: `must hold no number of more than ${maxNumberCharacters} characters` }
  }
  return undefined
}

function decode(bytes: Buffer): string | undefined {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

function parse(text: string): { json: unknown } | undefined {
  try {
    return { json: JSON.parse(text) }
  } catch {
    return undefined
  }
}

function firstProblem(member: string, error: z.ZodError): Problem {
  const issue = error.issues[0]
  const path = [member, ...(issue?.path ?? [])].map(String).join('.')
  return { path, rule: issue?.message ?? 'is not valid' }
}

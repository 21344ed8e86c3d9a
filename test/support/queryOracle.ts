import { isFrom, isUpTo, type PlainBound, readBound } from './plainDates.ts'
import type { StoredEntity } from './queryData.ts'
import type { Json } from './randomHistory.ts'
import { servedFormSummary, servedSubmissionSummary } from './served.ts'
import { matchingTitles } from './titleOracle.ts'

/** A query of a team's list, with raw parameters. */
export type ListQuery = {
  readonly list: 'forms' | 'records'
  readonly team: string
  readonly parameters: Readonly<Record<string, string>>
  /** Codes with the alternatives of a filter, by `answer.<code>` or in `answers`. */
  readonly answers?: readonly (readonly [code: string, values: readonly string[]])[]
}

export type ListAnswer =
  | { readonly status: 200; readonly body: Json }
  | { readonly status: 400; readonly body: { readonly error: { readonly code: 'bad_request' } } }

export type Entry = { readonly entity: Json; readonly createdMs: number; readonly changedMs: number }

/** The members of a submission that a parameter of the same name filters by. */
export const askedMembers: Readonly<Record<string, (submission: Json) => unknown>> = {
  email: ({ examinee }) => inLowerCase(examinee?.email),
  examineeId: ({ examinee }) => examinee?.examineeId,
  serialNumber: ({ serialNumber }) => serialNumber,
  shareToken: ({ shareToken }) => shareToken,
  level: ({ result }) => result.level,
  outcomeCode: ({ result }) => result.outcomeCode,
  utmSource: ({ metadata }) => metadata?.utmSource,
  utmMedium: ({ metadata }) => metadata?.utmMedium,
  utmCampaign: ({ metadata }) => metadata?.utmCampaign,
}
const maxCharacters = 256

/** Character by character: a sigma is the same at the end of a word. */
const inLowerCase = (text: string | undefined): string | undefined =>
  text && Array.from(text, (character) => character.toLowerCase()).join('')

/** The values of a submission's answer to a field that filters find, as served. */
export const answersTo = (code: string, { data }: Json): readonly string[] =>
  [Object.hasOwn(data ?? {}, code) ? data[code] : null]
    .flat()
    .filter((value) => ['string', 'number', 'boolean'].includes(typeof value))
    .map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
    .filter(({ length }) => length <= maxCharacters)

/** Whether a submission matches the parameters; undefined if no submission can. */
function isAskedFor({
  parameters,
  answers = [],
}: Pick<ListQuery, 'parameters' | 'answers'>): ((submission: Json) => boolean) | undefined {
  if (answers.flat(2).some(({ length }) => length > maxCharacters)) return undefined
  const filters = Object.entries(parameters).filter(([name]) => Object.hasOwn(askedMembers, name))
  if (filters.some(([, value]) => value === '' || value.length > maxCharacters)) return undefined
  const { minScore, maxScore } = parameters
  const isScored = ({ result }: Json): boolean =>
    typeof result.score === 'number' &&
    result.score >= Number(minScore ?? -Infinity) &&
    result.score <= Number(maxScore ?? Infinity)
  const isWithValues = (submission: Json): boolean =>
    filters.every(([name, value]) => {
      const member: unknown = askedMembers[name]?.(submission) ?? null
      return member !== null && String(member) === (name === 'email' ? inLowerCase(value) : value)
    })
  const hasBound = minScore !== undefined || maxScore !== undefined
  const hasAnswers = (submission: Json): boolean =>
    answers.every(([code, values]) => answersTo(code, submission).some((value) => values.includes(value)))
  return (submission) => isWithValues(submission) && hasAnswers(submission) && (!hasBound || isScored(submission))
}

/** The expected answer: entities filtered, sorted and paged by simple rules. Undefined for an invalid date. */
export function expectedAnswer(stored: readonly StoredEntity[], query: ListQuery): ListAnswer {
  const { limit = '20', page = '1' } = query.parameters
  const entries = expectedEntries(stored, query)
  if (entries === undefined) return { status: 400, body: { error: { code: 'bad_request' } } }
  const from = (Number(page) - 1) * Number(limit)
  const shown = entries.slice(from, from + Number(limit)).map(({ entity }) => entity)
  const served = query.list === 'forms' ? servedFormSummary : servedSubmissionSummary
  const body = { totalDocs: entries.length, page: Number(page), limit: Number(limit), items: shown.map(served) }
  return { status: 200, body }
}

/** The number of matches on all pages; undefined for an invalid date. */
export const expectedTotal = (stored: readonly StoredEntity[], query: ListQuery): number | undefined =>
  expectedEntries(stored, query)?.length

/** All matches, newest first; undefined for an invalid date. */
export function expectedEntries(
  stored: readonly StoredEntity[],
  { list, team, parameters, answers = [] }: ListQuery,
): Entry[] | undefined {
  const { formId, status, scene, titleContains = '' } = parameters
  const created = readWindow(list === 'records' ? [parameters['since'], parameters['until']] : [])
  const changed = readWindow([parameters['changedSince'], parameters['changedUntil']])
  const isAsked = isAskedFor(list === 'records' ? { parameters, answers } : { parameters: {} })
  if (created === undefined || changed === undefined || isAsked === undefined) return undefined
  const entries = stored
    .filter((item) => item.list === list && item.team === team)
    .map(({ entity, changedMs }) => ({
      entity,
      createdMs: Date.parse(list === 'forms' ? entity.createdAt : entity.submittedAt),
      changedMs,
    }))
    .filter(({ entity }) => formId === undefined || entity.formId === formId)
    .filter(({ entity }) => status === undefined || entity.result.status === status)
    .filter(({ entity }) => scene === undefined || entity.scene === scene)
    .filter(({ entity }) => isAsked(entity))
    .filter(({ createdMs }) => isWithin(createdMs, created))
    .filter(({ changedMs }) => isWithin(changedMs, changed))
    .sort(byPosition)
  return list === 'forms' ? matchingTitles(entries, ({ entity }) => entity.title, titleContains) : entries
}

type Window = { readonly since: PlainBound | undefined; readonly until: PlainBound | undefined }

function readWindow([since, until]: readonly (string | undefined)[]): Window | undefined {
  const window = {
    since: since === undefined ? undefined : readBound(since),
    until: until === undefined ? undefined : readBound(until),
  }
  const isRead =
    (window.since !== undefined || since === undefined) && (window.until !== undefined || until === undefined)
  return isRead ? window : undefined
}

const isWithin = (epochMs: number, { since, until }: Window): boolean =>
  (since === undefined || isFrom(epochMs, since)) && (until === undefined || isUpTo(epochMs, until))

/** Compares by creation time, then id, both descending. */
const byPosition = (a: Entry, b: Entry): number => b.createdMs - a.createdMs || (a.entity.id < b.entity.id ? 1 : -1)

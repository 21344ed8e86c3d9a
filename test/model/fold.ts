import { isDeepStrictEqual } from 'node:util'
import { fold, type HistoryRecord, type Json } from '../support/randomHistory.ts'
import {
  newestFirst,
  servedForm,
  servedFormSummary,
  servedSubmission,
  servedSubmissionSummary,
} from '../support/served.ts'
import type { Suspect } from './problems.ts'

/** Sends a request to any running API process, with the key of a team. */
export type Ask = (team: string, target: string) => Promise<{ readonly status: number; readonly body: Json }>

/** A difference between the API and the fold of the records. */
export type Difference = {
  readonly kind: 'total' | 'list' | 'detail'
  readonly text: string
  readonly suspects: readonly Suspect[]
}

const kinds = [
  { topic: 'forms', path: '/api/v1/forms', summary: servedFormSummary, detail: servedForm },
  { topic: 'submissions', path: '/api/v1/records', summary: servedSubmissionSummary, detail: servedSubmission },
] as const
const askedAtOnce = 6

/** A kind of entity, with the fold of its records: record key → entity. */
export type Folded = (typeof kinds)[number] & { readonly entities: ReadonlyMap<string, Json> }

export const foldedOf = (records: readonly HistoryRecord[]): Folded[] =>
  kinds.map((kind) => ({ ...kind, entities: fold(records, kind.topic) }))

/** Compares every page of a team's list; for submissions, also with `status=completed`. */
export async function compareLists(ask: Ask, folded: Folded, team: string, limit: number): Promise<Difference[]> {
  const ofTeam = [...folded.entities].filter(([key]) => key.startsWith(`${team}/`))
  const mine = newestFirst(ofTeam.map(([, entity]) => entity))
  const whole = await compareList(ask, folded, team, `?limit=${limit}`, mine)
  if (folded.topic === 'forms') return whole
  const completed = mine.filter(({ result }) => result.status === 'completed')
  return [...whole, ...(await compareList(ask, folded, team, `?status=completed&limit=${limit}`, completed))]
}

async function compareList(
  ask: Ask,
  { topic, path, summary }: Folded,
  team: string,
  query: string,
  entities: readonly Json[],
): Promise<Difference[]> {
  const found: Difference[] = []
  const expected = entities.map(summary)
  const items: Json[] = []
  for (let page = 1; page === 1 || items.length < expected.length; page++) {
    const target = `${path}${query}&page=${page}`
    const { status, body } = await ask(team, target)
    const text = `${team} ${target}: ${status} ${cut(body)}, not ${expected.length}`
    if (status !== 200 || body.totalDocs !== expected.length || body.page !== page || !query.endsWith(`=${body.limit}`))
      found.push({ kind: 'total', text, suspects: [] })
    if (status !== 200 || body.items.length === 0) break
    items.push(...body.items)
  }
  const at = expected.findIndex((each, index) => !isSame(each, items[index]))
  if (at < 0 && items.length === expected.length) return found
  const wrong = [expected[at]?.id, items[at < 0 ? expected.length : at]?.id].filter((id) => id !== undefined)
  const suspects = [...new Set(wrong)].map((id) => ({ topic, key: `${team}/${id}` }))
  const text = `${team} ${path}${query} differs at ${at}: ${cut(items[at])} instead of ${cut(expected[at])}`
  return [...found, { kind: 'list', text, suspects }]
}

/** Compares entities requested by id, missing ones with 404. */
export async function compareDetails(ask: Ask, folded: Folded, keys: readonly string[]): Promise<Difference[]> {
  const found: Difference[] = []
  const asked = [...new Set(keys)]
  for (let at = 0; at < asked.length; at += askedAtOnce) {
    const some = asked.slice(at, at + askedAtOnce).map((key) => compareDetail(ask, folded, key))
    found.push(...(await Promise.all(some)).flat())
  }
  return found
}

async function compareDetail(ask: Ask, { topic, path, detail, entities }: Folded, key: string): Promise<Difference[]> {
  const slash = key.indexOf('/')
  const { status, body } = await ask(key.slice(0, slash), `${path}/${encodeURIComponent(key.slice(slash + 1))}`)
  const entity = entities.get(key)
  const isRight =
    entity === undefined
      ? status === 404 && body.error?.code === 'not_found'
      : status === 200 && isSame(body, detail(entity))
  if (isRight) return []
  const text = `${topic} ${key}: ${status} ${cut(body)} instead of ${cut(entity)}`
  return [{ kind: 'detail', text, suspects: [{ topic, key }] }]
}

/** Compares as JSON, because objects from Node's `fetch` have other classes than those made in Jest. */
const isSame = (one: Json, other: Json): boolean => isDeepStrictEqual(plain(one), plain(other))
const plain = (value: Json): unknown => JSON.parse(JSON.stringify(value ?? null))
export const cut = (value: unknown): string => (JSON.stringify(value) ?? 'nothing').slice(0, 600)

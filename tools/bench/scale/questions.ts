import { seededRandom } from '../../demo/random.ts'
import type { HttpRequest } from '../load/job.ts'
import { type fixedTeam, type largestTeam, newestMs, sizesOf, type World } from './world.ts'

export type MeasuredTeam = typeof fixedTeam | typeof largestTeam
export type QuestionName = 'page 1' | 'window' | 'deep pages'

const dayMs = 86_400_000
const limit = 20
const deepFromOffset = 1_000
const mostDeepPages = 400
export const changedDays = 3
const changedSince = new Date(newestMs - changedDays * dayMs).toISOString()

/** Asks the API for a list of submissions. */
export const recordsRequest = (
  accountKey: string,
  query: Readonly<Record<string, string>>,
  etag?: string,
): HttpRequest => ({
  method: 'GET',
  path: `/api/v1/records?${new URLSearchParams(query)}`,
  headers: { authorization: `Bearer ${accountKey}`, ...(etag !== undefined && { 'if-none-match': etag }) },
  expectedStatus: etag === undefined ? 200 : 304,
})

/** The requests of a question, to be asked in turn. */
export function requestsOf(
  question: QuestionName,
  team: MeasuredTeam,
  world: Pick<World, 'submissions'>,
  accountKey: string,
): HttpRequest[] {
  if (question === 'page 1') return [recordsRequest(accountKey, { limit: String(limit) })]
  if (question === 'window') return [recordsRequest(accountKey, { limit: String(limit), changedSince })]
  return deepPagesOf(sizesOf(world)[team]).map((page) =>
    recordsRequest(accountKey, { limit: String(limit), page: String(page) }),
  )
}

/** Pages that begin at row 1,000 or later, in no order. */
export function deepPagesOf(submissions: number): number[] {
  const [first, last] = [deepFromOffset / limit + 1, Math.floor(submissions / limit)]
  const random = seededRandom('deep pages')
  const pages = Array.from({ length: Math.min(last - first + 1, mostDeepPages) }, (_, index) =>
    last - first + 1 <= mostDeepPages ? first + index : first + random.below(last - first + 1),
  )
  return random.shuffled(pages)
}

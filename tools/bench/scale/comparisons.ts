import { seededRandom } from '../../demo/random.ts'
import { type Asker, type Comparison, sideBySide } from '../comparison.ts'
import { apiRequest } from '../http.ts'
import type { HttpRequest, Pace } from '../load.ts'
import type { Goal } from '../report.ts'
import type { Stage } from '../stage.ts'
import { newestMs } from '../submissions.ts'
import type { AccountKeys, ServedWorld } from './serve.ts'
import { type MeasuredTeam, sizesOf, type World } from './world.ts'

/** Worlds that differ in one thing, from the smallest, asked by one team. */
export type Series = {
  readonly title: string
  readonly team: MeasuredTeam
  readonly worlds: readonly ServedWorld[]
  /** In what a world differs from the others. */
  labelOf(world: World): string
  readonly questions: readonly Question[]
  /** What the last world has to be beside the first. */
  readonly goal?: Goal
}

export const questions = ['page 1', 'window', 'deep pages'] as const
type Question = (typeof questions)[number]

/** Short, for there are many contenders. */
const pace: Pace = { connections: 1, leadIn: 5, maxRequests: 100, maxMs: 700 }
const limit = 20
const changedDays = 3
const dayMs = 86_400_000
const deepFromRow = 1_000
const mostDeepPages = 400

/** What a team is answered in each world of a series, beside the same question in the first one. */
export function compareWorlds(
  { title, team, worlds, labelOf, questions: asked, goal }: Series,
  keys: AccountKeys,
  { signal }: Stage,
): Comparison {
  const [first] = worlds
  const askers = asked.flatMap((question) =>
    worlds.map((world, at): Asker => {
      const labelIn = (of: World): string => `${question}, ${labelOf(of)}`
      const requests = requestsOf(question, sizesOf(world)[team], keys[team])
      const asker = { label: labelIn(world), origin: world.origin, requestsOf: () => requests }
      if (at === 0 || first === undefined) return asker
      const to = { label: labelOf(first), of: labelIn(first) }
      return { ...asker, to: goal === undefined || at < worlds.length - 1 ? to : { ...to, goal } }
    }),
  )
  return sideBySide(title, pace, askers, signal)
}

/** The requests of a question to a team of so many submissions, to be asked in turn. */
function requestsOf(question: Question, submissions: number, accountKey: string): HttpRequest[] {
  switch (question) {
    case 'page 1':
      return [apiRequest(accountKey, 'records', { limit })]
    case 'window': {
      const changedSince = new Date(newestMs - changedDays * dayMs).toISOString()
      return [apiRequest(accountKey, 'records', { limit, changedSince })]
    }
    case 'deep pages':
      return deepPagesOf(submissions).map((page) => apiRequest(accountKey, 'records', { limit, page }))
  }
}

/** Pages that begin at row 1,000 or later, in no order. */
export function deepPagesOf(submissions: number): number[] {
  const [first, last] = [deepFromRow / limit + 1, Math.floor(submissions / limit)]
  const pages = Array.from({ length: last - first + 1 }, (_, at) => first + at)
  return seededRandom('deep pages').shuffled(pages).slice(0, mostDeepPages)
}

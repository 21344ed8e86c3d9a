import type { Pace } from '../load/job.ts'
import { type Comparison, loadContender, type Measuring, together } from '../measuring.ts'
import type { Goal, Row } from '../report.ts'
import type { Plan } from './plan.ts'
import { type MeasuredTeam, type QuestionName, requestsOf } from './questions.ts'
import type { AccountKeys, ServedWorld } from './serve.ts'
import { fixedTeam, fixedTeamSubmissions, largestTeam } from './world.ts'

/** Worlds that differ in one thing, from the smallest. */
type Series = {
  readonly title: string
  readonly worlds: readonly ServedWorld[]
  /** In what a world differs from the others. */
  labelOf(world: ServedWorld): string
}
type Served = { readonly [Name in keyof Plan]: readonly ServedWorld[] }
type SearchClient = Measuring & { readonly keys: AccountKeys }

/** One request after the other; short, for there are many contenders. */
export const pace: Pace = { atOnce: 1, leadInTurns: 5, maxTurns: 100, maxMs: 700 }

const all: QuestionName[] = ['page 1', 'window', 'deep pages']
const fixedName = `Team of ${count(fixedTeamSubmissions)}`
/** A team must not pay for the others. */
const fixedGoal: Goal = { atMost: 1.5 }

/** Everything that is asked in the worlds of all series. */
export function compareAll(asking: SearchClient, { documents, teams, shards }: Served): Comparison {
  const byDocuments = { worlds: documents, labelOf: ({ submissions }: ServedWorld) => `among ${count(submissions)}` }
  const byTeams = { worlds: teams, labelOf: (world: ServedWorld) => `among ${count(world.teams)} teams` }
  const byShards = { worlds: shards, labelOf: (world: ServedWorld) => shardsOf(world.shards) }
  const largestOf = (submissions: string): string => `Largest team, a quarter of ${submissions}`
  return together([
    compare(asking, { ...byDocuments, title: `${fixedName}, by submissions in the index` }, fixedTeam, all, fixedGoal),
    compare(asking, { ...byDocuments, title: largestOf('all submissions') }, largestTeam, all),
    compare(asking, { ...byTeams, title: `${fixedName}, by teams in the index` }, fixedTeam, all, fixedGoal),
    compare(asking, { ...byTeams, title: largestOf('the same submissions') }, largestTeam, all),
    compare(asking, { ...byShards, title: `${fixedName}, by primary shards` }, fixedTeam, ['page 1'], fixedGoal),
  ])
}

const shardsOf = (shards: number): string => (shards === 1 ? '1 shard' : `${shards} shards`)
function count(value: number): string {
  return value.toLocaleString('en')
}

/** What a team is answered in each world of a series, beside the same question in the first one; the last one has to meet the goal. */
function compare(
  asking: SearchClient,
  { title, worlds, labelOf }: Series,
  team: MeasuredTeam,
  questions: readonly QuestionName[],
  goal?: Goal,
): Comparison {
  const nameOf = (world: ServedWorld, question: QuestionName): string => `${world.name}, ${team}: ${question}`
  const contenders = questions.flatMap((question) =>
    worlds.map((world) => {
      const turns = requestsOf(question, team, world, asking.keys[team]).map((request) => [request])
      return loadContender(nameOf(world, question), asking, pace, () => ({ kind: 'http', origin: world.origin, turns }))
    }),
  )
  const rowsOf = (question: QuestionName): Row[] => {
    const [first, ...others] = worlds
    if (first === undefined) return []
    const row = (world: ServedWorld): Row => ({
      label: `${question}, ${labelOf(world)}`,
      of: nameOf(world, question),
    })
    const to = { label: labelOf(first), of: nameOf(first, question) }
    return [
      row(first),
      ...others.map((world, at) => ({
        ...row(world),
        to: goal === undefined || at < others.length - 1 ? to : { ...to, goal },
      })),
    ]
  }
  return { contenders, sections: [{ title, measure: 'latency', rows: questions.flatMap(rowsOf) }] }
}

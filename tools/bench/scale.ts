import { together } from './comparison.ts'
import type { Counts, Results } from './report.ts'
import { type Rounds, runRounds } from './rounds.ts'
import { compareWorlds, questions, type Series } from './scale/comparisons.ts'
import { type ServedWorld, serveWorlds } from './scale/serve.ts'
import { fixedTeam, fixedTeamSubmissions, largestTeam, type World } from './scale/world.ts'
import type { Stage } from './stage.ts'
import { number } from './table.ts'

type Size = {
  /** Submissions of each index of the first series. */
  readonly submissions: readonly number[]
  /** Details are stored up to so many submissions. */
  readonly mostWithDetails: number
  /** Teams over which the same submissions are spread, and how many these are. */
  readonly teams: readonly number[]
  readonly ofTeams: number
  /** Primary shards over which the same submissions are spread, and how many these are. */
  readonly shards: readonly number[]
  readonly ofShards: number
  readonly rounds: Rounds
}

export const fullSize: Size = {
  submissions: [10_000, 100_000, 1_000_000],
  mostWithDetails: 100_000,
  teams: [10, 1_000, 10_000],
  ofTeams: 100_000,
  shards: [1, 4, 16],
  ofShards: 60_000,
  rounds: { warmUps: 1, measured: 5 },
}

export const smallSize: Size = {
  submissions: [5_000, 10_000],
  mostWithDetails: 5_000,
  teams: [10, 1_000],
  ofTeams: 5_000,
  shards: [1, 4],
  ofShards: 5_000,
  rounds: { warmUps: 0, measured: 1 },
}

const usualTeams = 1_000
/** A team must not pay for the others. */
const goal = { atMost: 1.5 }
const count = (value: number): string => value.toLocaleString('en')

/** Measures how latency and bytes grow with submissions, teams and shards. */
export async function benchScale(stage: Stage, size: Size): Promise<Results> {
  const plan = planOf(size)
  const { served, keys } = await serveWorlds(stage, plan.flat())
  const [bySubmissions = [], byTeams = [], byShards = []] = plan.map((worlds) =>
    served.filter(({ name }) => worlds.some((world) => world.name === name)),
  )
  const among = ({ submissions }: World): string => `among ${count(submissions)}`
  const amongTeams = ({ teams }: World): string => `among ${count(teams)} teams`
  const inShards = ({ shards }: World): string => (shards === 1 ? '1 shard' : `${shards} shards`)
  const fixed = { team: fixedTeam, questions, goal } as const
  const largest = { team: largestTeam, questions } as const
  const fixedName = `Team of ${count(fixedTeamSubmissions)}`
  const series: Series[] = [
    { ...fixed, title: `${fixedName}, by submissions in the index`, worlds: bySubmissions, labelOf: among },
    { ...largest, title: 'Largest team, a quarter of all submissions', worlds: bySubmissions, labelOf: among },
    { ...fixed, title: `${fixedName}, by teams in the index`, worlds: byTeams, labelOf: amongTeams },
    { ...largest, title: 'Largest team, a quarter of the same submissions', worlds: byTeams, labelOf: amongTeams },
    {
      ...fixed,
      title: `${fixedName}, by primary shards`,
      worlds: byShards,
      labelOf: inShards,
      questions: ['page 1'],
    },
  ]
  const { contenders, sections } = together(series.map((each) => compareWorlds(each, keys, stage)))
  return {
    title: 'How it grows: submissions, teams, shards',
    about: `Merged indices side by side in one Elasticsearch, each with an API of its own and no indexer; a team of ${count(fixedTeamSubmissions)} submissions and one of a quarter of all ask for the first page of 20, a window of three days, and pages from row 1,000 on.`,
    sections,
    samples: await runRounds('Measuring', contenders, size.rounds),
    counts: [weightsOf(served)],
  }
}

/** The worlds of each series; in each, they differ in one thing. */
const planOf = (size: Size): World[][] => [
  size.submissions.map((submissions) => ({
    name: `by-submissions-${submissions}`,
    submissions,
    teams: usualTeams,
    shards: 1,
    hasDetails: submissions <= size.mostWithDetails,
  })),
  size.teams.map((teams) => ({
    name: `by-teams-${teams}`,
    submissions: size.ofTeams,
    teams,
    shards: 1,
    hasDetails: false,
  })),
  size.shards.map((shards) => ({
    name: `by-shards-${shards}`,
    submissions: size.ofShards,
    teams: usualTeams,
    shards,
    hasDetails: false,
  })),
]

const weightsOf = (worlds: readonly ServedWorld[]): Counts => ({
  title: 'On disk, merged',
  header: ['', 'documents', 'bytes each', 'of them stored'],
  rows: worlds.flatMap(({ name, weights }) =>
    weights.map(({ kind, documents, bytes, storedBytes }) => [
      `${name}: ${kind}`,
      count(documents),
      number(bytes / documents),
      `${Math.round((100 * storedBytes) / bytes)} %`,
    ]),
  ),
})

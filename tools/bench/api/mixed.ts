import { whileAppending } from '../appending.ts'
import type { Sample } from '../load.ts'
import type { Replica } from '../replica.ts'
import type { Counts, Goal, Row, Samples, Section } from '../report.ts'
import { type Rounds, runRounds } from '../rounds.ts'
import type { Stage } from '../stage.ts'
import { spreadOf } from '../statistics.ts'
import { spreadText } from '../table.ts'
import { bareRequest, directRequest, type Lists, listRequest } from './lists.ts'
import { changesOf } from './mixed/changes.ts'
import { type Probe, unchanged } from './mixed/polling.ts'
import { type Load, type MixedRun, pollersOf, runLoad } from './mixed/run.ts'
import { careful, type PollingTeam, pollKinds } from './mixed/script.ts'
import { raisePollingTeams } from './mixed/teams.ts'
import { usualLoads, usualSections } from './mixed/usual.ts'

export type MixedSize = {
  readonly teams: number
  readonly deepPage: number
  /** Requests a second of all teams together; 0 is what the probes take alone. */
  readonly paces: readonly number[]
  readonly leadInMs: number
  readonly measuredMs: number
  readonly rounds: Rounds
}

type MixedRuns = ReadonlyMap<string, readonly MixedRun[]>

const writesPerSecond = 50
const goal = { atMost: 1.5 }

/**
 * Measures many teams that poll as scripts do while changes are written; beside them, requests that are compared at rest, too. Then what
 * an API that keeps answers makes of a mix with more whole answers.
 */
export async function compareMixed(
  stage: Stage,
  replica: Replica,
  lists: Lists,
  size: MixedSize,
): Promise<{ sections: Section[]; samples: Samples; counts: Counts[] }> {
  const { teams, forms } = await raisePollingTeams(replica, stage, size.teams)
  const [small] = teams.slice(-1)
  if (small === undefined) throw new Error('there are no polling teams')
  const besides = besidesOf(lists, small, size.deepPage)
  const most = Math.max(...size.paces)
  const pollers = pollersOf(teams, careful, most)
  const loads: Load[] = [
    ...size.paces.map((pace) => ({
      name: paceName(pace),
      origin: replica.origin,
      pollers: pollers.slice(0, pace),
      probes: besides,
    })),
    ...usualLoads(lists, teams, most),
  ]
  const changes = changesOf(teams, forms, stage.config)
  let written = 0
  const append = async (due: number): Promise<void> => {
    for (let left = due; left > 0; left--) {
      const { topic, record } = changes.next().value
      await replica.append(topic, [record])
      written += 1
    }
  }
  const contenders = loads.map((load) => ({ name: load.name, run: () => runLoad(load, size, () => written, stage) }))
  const runs = await whileAppending(append, writesPerSecond, stage.signal, () =>
    runRounds('Measuring under a mixed load', contenders, size.rounds),
  )
  const samples = samplesOf(runs)
  const sections = [...sectionsOf(size.paces.map(paceName), besides), ...usualSections(most, nameOf)]
  return { sections: answered(sections, samples), samples, counts: [countsOf(runs)] }
}

const paceName = (pace: number): string => (pace === 0 ? 'nobody polls' : `${pace} requests/s`)

/** What is asked beside the polling teams, and held against another one of these. */
type Beside = Probe & Pick<Row, 'to'>

/** The same targets as at rest, but for a deep page; `team` is a small one that is asked about as well. */
function besidesOf(lists: Lists, team: PollingTeam, deepPage: number): Beside[] {
  const { elasticsearchOrigin, bareOrigin, apiOrigin } = lists
  const small = { ...lists, teamId: team.id, accountKey: team.accountKey }
  const besideDirect = (what: string, of: Lists, limit: number, goal?: Goal): Beside[] => {
    const to = { label: 'direct', of: `Elasticsearch, ${what}`, ...(goal && { goal }) }
    return [
      { name: to.of, origin: elasticsearchOrigin, request: directRequest(of, limit) },
      { name: `API, ${what}`, origin: apiOrigin, request: listRequest(of, limit), to },
    ]
  }
  const bare = (limit: number): Beside => ({
    name: `a bare process in between, limit=${limit}`,
    origin: bareOrigin,
    request: bareRequest(limit),
    to: { label: 'direct', of: `Elasticsearch, limit=${limit}` },
  })
  return [
    ...[20, 100].flatMap((limit) => [...besideDirect(`limit=${limit}`, lists, limit, goal), bare(limit)]),
    {
      name: `API, page ${deepPage.toLocaleString('en')}`,
      origin: apiOrigin,
      request: listRequest(lists, 20, deepPage),
      // It comes just after a change: its list is counted anew.
      to: { label: 'page 1', of: 'API, limit=20', goal: { atMost: 5 } },
    },
    ...besideDirect('small team', small, 20),
  ]
}

const nameOf = (load: string, what: string): string => `mixed load, ${load}: ${what}`

/** What each kind of answer and each probe took; what did not occur in every round is left out. */
function samplesOf(runs: MixedRuns): Samples {
  const found = new Map<string, readonly Sample[]>()
  for (const [pace, own] of runs)
    for (const what of new Set(own.flatMap(({ samples }) => [...samples.keys()]))) {
      const samples = own.flatMap((run) => run.samples.get(what) ?? [])
      if (samples.length === own.length) found.set(nameOf(pace, what), samples)
    }
  return found
}

const sectionsOf = (paces: readonly string[], besides: readonly Beside[]): Section[] =>
  paces.flatMap((pace) => {
    const section = (what: string, probes: readonly Pick<Beside, 'name' | 'to'>[]): Section => ({
      title: `Mixed load, ${pace}: ${what}`,
      measure: 'latency',
      rows: probes.map(({ name, to }) => ({
        label: name,
        of: nameOf(pace, name),
        ...(to && { to: { ...to, of: nameOf(pace, to.of) } }),
      })),
    })
    const answers = [unchanged, ...pollKinds].map((name) => ({ name }))
    return [section('by answer', answers), section('asked beside it once a second each', besides)]
  })

/** The sections with the rows of what was answered in every round. */
const answered = (sections: readonly Section[], samples: Samples): Section[] =>
  sections
    .map(({ rows, ...section }) => ({
      ...section,
      rows: rows.filter(({ of, to }) => samples.has(of) && samples.has(to?.of ?? of)),
    }))
    .filter(({ rows }) => rows.length > 0)

/** What the load was. */
function countsOf(runs: MixedRuns): Counts {
  const line = (label: string, of: (run: MixedRun) => number): string[] => [
    label,
    ...[...runs.values()].map((own) => {
      const { median, ...ends } = spreadOf(own.map(of))
      return Number.isFinite(median) ? spreadText({ median, ...ends }) : ''
    }),
  ]
  return {
    title: 'Mixed load: what it was',
    header: ['', ...runs.keys()],
    rows: [
      line('requests/s of the polling teams', ({ perSecond }) => perSecond),
      line('conditional, % of the requests', ({ conditionalShare }) => 100 * conditionalShare),
      line('304, % of the conditional', ({ unchangedShare }) => 100 * unchangedShare),
      line('changes/s written', ({ writtenPerSecond }) => writtenPerSecond),
      line('CPU of Elasticsearch, ms a request, indexing included', ({ elasticsearchMs }) => elasticsearchMs),
    ],
  }
}

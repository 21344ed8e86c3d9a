import { Client } from 'pg'
import { createTopics } from '../../src/core/kafka/source.ts'
import { waitUntil } from '../engines/waiting.ts'
import { type Alternative, byHand, tidemark } from './alternative.ts'
import { readLines } from './api/exports.ts'
import { largeTeam, submissionsOf, type TeamSizes, totalOf } from './api.ts'
import { type Asker, type Comparison, type Contender, runRounds, sideBySide, together } from './comparison.ts'
import { type Followed, follow, followPollMs } from './follow.ts'
import { apiRequest, ask, exportRequest } from './http.ts'
import type { Pace } from './load.ts'
import { number, spreadText } from './page.ts'
import { appendAll, connect } from './replica.ts'
import { type Counts, type Figures, type Results, type Section, spreadOf } from './report.ts'
import type { Stage } from './stage.ts'

type Size = Readonly<typeof fullSize>

export const fullSize = {
  teams: { largeTeam: 300_000, otherTeams: 100, ofEach: 300 },
  deepPage: 5_000,
  rounds: { warmUps: 1, measured: 3 },
  exports: { warmUps: 0, measured: 3 },
  follow: { perSecond: 500, forMs: 20_000, restarts: true },
}
export const smallSize: Size = {
  teams: { largeTeam: 11_000, otherTeams: 20, ofEach: 100 },
  deepPage: 500,
  rounds: { warmUps: 0, measured: 1 },
  exports: { warmUps: 0, measured: 1 },
  follow: { perSecond: 100, forMs: 6_000, restarts: true },
}

const partitions = 4
const loadDeadlineMs = 600_000
const calm: Pace = { connections: 1, leadIn: 5, maxRequests: 200, maxMs: 3_000 }
const busy: Pace = { ...calm, connections: 16, leadIn: 50, maxRequests: 2_000 }

/**
 * Tidemark beside alternatives that are written by hand: Elasticsearch and, if `POSTGRES_URL` names a database, PostgreSQL, each filled from Kafka
 * and queried through a small Koa handler.
 */
export async function benchAlternatives(stage: Stage, size: Size): Promise<Results> {
  const [admin, append] = await connect(stage)
  const hasPostgres = await emptyPostgres(process.env['POSTGRES_URL'])
  const all = [await tidemark(stage, append, largeTeam)]
  for (const name of ['elasticsearch', ...(hasPostgres ? (['postgres'] as const) : [])] as const) {
    await createTopics(admin, [{ topic: `submissions-${name}`, numPartitions: partitions }])
    all.push(await byHand(stage, append, [name, largeTeam]))
  }
  const total = totalOf(size.teams)
  const appendToAll = async (records: Parameters<Alternative['append']>[0]): Promise<void> => {
    for (const alternative of all) await alternative.append(records)
  }
  await appendAll(submissionsOf(size.teams), total, appendToAll, stage.signal)
  const loads = new Map<string, number>()
  for (const alternative of all) loads.set(alternative.name, await load(alternative, size.teams, stage))
  const reads = compareReads(all, size, stage)
  const samples = await runRounds('Asking', reads.contenders, size.rounds)
  const exports = all.map(
    ({ name, origin, accountKey }): Contender<Figures> => ({
      name: exportOf(name),
      run: () => readLines(origin, exportRequest(accountKey, {}), size.teams.largeTeam, stage),
    }),
  )
  const exported = await runRounds('Exporting', exports, size.exports)
  const followers = all.map(
    (alternative): Contender<Followed> => ({
      name: alternative.name,
      run: () => follow(alternative, largeTeam, size.follow, stage),
    }),
  )
  const followed = await runRounds('Following', followers, size.exports)
  return {
    title: 'Tidemark beside what one would write by hand',
    about: `A team of ${size.teams.largeTeam.toLocaleString('en')} submissions among ${total.toLocaleString('en')}. Elasticsearch is filled by a sink like Kafka Connect's, PostgreSQL by upserts, each behind a Koa handler without limits, checks or cache; Tidemark caches no answers either. Pages have their exact total. A client follows the team by polls every ${followPollMs} ms, of Tidemark's change feed or of what the others have since the newest row it knows, while ${size.follow.perSecond} submissions a second arrive, every second one of the team, and while the consumer is started anew.`,
    sections: [...reads.sections, exportSection(all)],
    samples: new Map<string, readonly Figures[]>([...samples, ...exported]),
    counts: [countsOf(all, loads, followed)],
    compared: ['Page of 20', 'Page 5,000', 'Export', 'Filled and followed'],
  }
}

/** False without a database. */
async function emptyPostgres(url: string | undefined): Promise<boolean> {
  if (url === undefined) return false
  const client = new Client(url)
  await client.connect()
  await client.query('drop table if exists submissions')
  await client.end()
  return true
}

/** Records a second, from the start of the program until the team's total is complete. */
async function load(
  { origin, accountKey, startSink, name }: Alternative,
  teams: TeamSizes,
  stage: Stage,
): Promise<number> {
  process.stdout.write(`Filling ${name}\n`)
  const beganMs = performance.now()
  const sink = await startSink()
  const isComplete = async (): Promise<boolean> => {
    await sink.expectRunning?.()
    const answer = await ask(origin, apiRequest(accountKey, 'records', { limit: 1 }), stage).catch(() => undefined)
    return (answer?.json as { totalDocs: number } | undefined)?.totalDocs === teams.largeTeam
  }
  if (!(await waitUntil(isComplete, { deadlineMs: loadDeadlineMs, signal: stage.signal })))
    throw new Error(`${name} is not complete within ${loadDeadlineMs / 60_000} minutes`)
  const elapsedMs = performance.now() - beganMs
  await sink.stop()
  return (1_000 * totalOf(teams)) / elapsedMs
}

/** Each alternative gets the same requests, and is compared with Tidemark. */
function compareReads(all: readonly Alternative[], { deepPage }: Size, stage: Stage): Comparison {
  const asking = (title: string, pace: Pace, limit: number, page = 1): Comparison => {
    const able = all.filter(({ reachesAllPages }) => page === 1 || reachesAllPages)
    const askers = able.map(
      ({ name, origin, accountKey }, at): Asker => ({
        label: name,
        origin,
        requestsOf: () => [apiRequest(accountKey, 'records', { limit, page })],
        ...(at > 0 && { to: { label: 'Tidemark', of: able[0]?.name ?? '' } }),
      }),
    )
    return sideBySide(title, pace, askers, stage)
  }
  return together([
    asking('Page of 20', calm, 20),
    asking('Page of 20', busy, 20),
    asking('Page of 100', busy, 100),
    asking(`Page ${deepPage.toLocaleString('en')} of 20`, calm, 20, deepPage),
  ])
}

const exportOf = (name: string): string => `export: ${name}`

const exportSection = (all: readonly Alternative[]): Section => ({
  title: 'Export of the team as NDJSON',
  measure: 'rows a second',
  rows: all.map(({ name }, at) => ({
    label: name,
    of: exportOf(name),
    ...(at > 0 && { to: { label: 'Tidemark', of: exportOf(all[0]?.name ?? '') } }),
  })),
})

const countsOf = (
  all: readonly Alternative[],
  loads: ReadonlyMap<string, number>,
  followed: ReadonlyMap<string, readonly Followed[]>,
): Counts => ({
  title: 'Filled and followed',
  header: ['', 'records a second', 'seen after, p50 ms', 'p99 ms', 'lost', 'rows read a change', 'lines to write'],
  rows: all.map(({ name, lines }) => {
    const runs = followed.get(name) ?? []
    const spread = (value: (run: Followed) => number): string => spreadText(spreadOf(runs.map(value)))
    return [
      name,
      number(loads.get(name) ?? Number.NaN),
      spread(({ p50Ms }) => p50Ms),
      spread(({ p99Ms }) => p99Ms),
      spread(({ lost }) => lost),
      spread(({ readPerChange }) => readPerChange),
      String(lines),
    ]
  }),
})

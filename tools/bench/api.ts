import { join } from 'node:path'
import { aliasOf } from '../../src/core/elasticsearch/indices.ts'
import { startProgressBar } from '../../src/core/process/progressBar.ts'
import { waitUntil } from '../engines/waiting.ts'
import { seededRandom } from '../sample/random.ts'
import { startBare } from './api/bareProcesses.ts'
import { compareAtRest, compareUnderWrites, type ListSize } from './api/comparisons.ts'
import { compareCounts } from './api/counts.ts'
import { compareExports } from './api/exports.ts'
import { compareIdlePolls } from './api/feeds.ts'
import { compareFilters, findAnswered } from './api/filters.ts'
import { bareRequest, expectSameAnswers, type Lists } from './api/lists.ts'
import { compareRepeated } from './api/repeated.ts'
import { type Rounds, runRounds, together } from './comparison.ts'
import {
  appendAll,
  createServedKey,
  type Replica,
  startApi,
  startReplica,
  untilServed,
  whileAppending,
  withAnswerCache,
} from './replica.ts'
import type { Figures, Results } from './report.ts'
import type { Stage } from './stage.ts'
import { newestMs, type SubmissionRecord, submissionMaker, timeOf } from './submissions.ts'

type Size = { readonly teams: TeamSizes; readonly lists: ListSize; readonly rounds: Rounds; readonly exports: Rounds }

export const fullSize: Size = {
  teams: { largeTeam: 1_000_000, otherTeams: 400, ofEach: 300 },
  lists: { submissions: 1_000_000, deepPage: 10_000, walkFromRow: 20_000 },
  rounds: { warmUps: 1, measured: 3 },
  exports: { warmUps: 0, measured: 3 },
}

export const smallSize: Size = {
  teams: { largeTeam: 11_000, otherTeams: 20, ofEach: 100 },
  lists: { submissions: 11_000, deepPage: 500, walkFromRow: 2_000 },
  rounds: { warmUps: 0, measured: 1 },
  exports: { warmUps: 0, measured: 1 },
}

const writesPerSecond = 20
const mergesDeadlineMs = 120_000

/** Lists of a large team beside direct queries of Elasticsearch and a bare process, and repeated requests beside 304. */
export async function benchApi(stage: Stage, size: Size): Promise<Results> {
  const { config, urls, signal } = stage
  const replica = await serve(stage, size.teams)
  const accountKey = await createServedKey(stage, replica.origin, largeTeam)
  const smallTeamKey = await createServedKey(stage, replica.origin, smallTeam)
  const cachingOrigin = await startApi(stage, withAnswerCache, join(stage.logsFolder, 'caching'))
  for (const key of [accountKey, smallTeamKey]) await untilServed(stage, cachingOrigin, key)
  const index = aliasOf(config.INDEX_PREFIX, 'submissions')
  const lists: Lists = {
    apiOrigin: replica.origin,
    cachingOrigin,
    elasticsearchOrigin: urls.ELASTICSEARCH_URL,
    bareOrigin: await startBare(
      stage,
      'bareReader',
      [urls.ELASTICSEARCH_URL, urls.REDIS_URL, index, largeTeam],
      [bareRequest('/?limit=1')],
    ),
    index,
    teamId: largeTeam,
    accountKey,
  }
  await expectSameAnswers(lists, size.teams.largeTeam, stage)

  const answered = await findAnswered(lists, stage)
  const atRest = together([
    await compareAtRest(lists, size.lists, stage),
    await compareRepeated(lists, smallTeamKey, stage),
    await compareIdlePolls(lists, stage),
    compareFilters(lists, answered, stage),
    compareCounts(lists, answered, stage),
  ])
  const samplesAtRest = await runRounds('Measuring at rest', atRest.contenders, size.rounds)
  const exports = await compareExports(lists, size.teams.largeTeam, stage)
  const samplesOfExports = await runRounds('Measuring exports', exports.contenders, size.exports)
  const underWrites = compareUnderWrites(lists, size.lists, stage)
  const make = submissionMaker('later')
  let createdMs = newestMs
  const append = async (due: number): Promise<void> => {
    const records = Array.from({ length: due }, () => {
      createdMs += 1_000
      return make(largeTeam, createdMs)
    })
    await replica.append(config.TOPIC_SUBMISSIONS, records)
  }
  const samplesUnderWrites = await whileAppending(append, writesPerSecond, signal, () =>
    runRounds('Measuring under writes', underWrites.contenders, size.rounds),
  )
  return {
    title: 'Lists of a large team through the API',
    about: `A team of ${size.teams.largeTeam.toLocaleString('en')} submissions among ${totalOf(size.teams).toLocaleString('en')}, each page with its exact total. "Elasticsearch" answers the API's own _msearch for rows and total, or its _search for a new question; the bare process sends Redis and Elasticsearch the API's queries and checks nothing. The API caches no answers (ANSWER_CACHE_BYTES=0), except in tables of repeated or ever new questions: there, an API without that label caches as by default.`,
    sections: [...atRest.sections, ...exports.sections, ...underWrites.sections],
    samples: new Map<string, readonly Figures[]>([...samplesAtRest, ...samplesOfExports, ...samplesUnderWrites]),
    compared: [
      'ANSWER_CACHE_BYTES=0, against Elasticsearch asked directly, one request',
      '304 for an unchanged list',
      'A whole list',
      'A poll of the change feed',
    ],
  }
}

/** Resolves when all submissions are searchable and Elasticsearch is idle. */
async function serve(stage: Stage, teams: TeamSizes): Promise<Replica> {
  const replica = await startReplica(stage)
  const total = totalOf(teams)
  const append = replica.append.bind(undefined, stage.config.TOPIC_SUBMISSIONS)
  await appendAll(submissionsOf(teams), total, append, stage.signal)
  const bar = startProgressBar('Indexing submissions', total, process.stdout)
  await replica.untilIndexed(bar.reach).finally(bar.end)
  await untilMerged(stage)
  return replica
}

/** Merges would compete with the measured requests. */
async function untilMerged({ client, signal }: Stage): Promise<void> {
  let quietPolls = 0
  const isQuiet = async (): Promise<boolean> => {
    const { _all } = await client.indices.stats({ metric: 'merge' }, { signal })
    quietPolls = _all.total?.merges?.current === 0 ? quietPolls + 1 : 0
    return quietPolls > 10
  }
  if (await waitUntil(isQuiet, { deadlineMs: mergesDeadlineMs, signal })) return
  throw new Error(`Elasticsearch is still merging after ${mergesDeadlineMs / 1_000} s`)
}

export type TeamSizes = { readonly largeTeam: number; readonly otherTeams: number; readonly ofEach: number }

export const largeTeam = 'team_large'
export const smallTeam = 'team_0'
/** Of so many submissions in a row, the first few have the same millisecond. */
const tieEvery = 50
const tied = 5
const seed = 'api'

export const totalOf = ({ largeTeam, otherTeams, ofEach }: TeamSizes): number => largeTeam + otherTeams * ofEach

/** In order of created time, the teams mixed. The same at every call. */
export function* submissionsOf(sizes: TeamSizes): Generator<SubmissionRecord> {
  const random = seededRandom(seed)
  const make = submissionMaker(seed)
  const total = totalOf(sizes)
  const ofLarge = (count: number): number => Math.floor((count * sizes.largeTeam) / total)
  let others = 0
  for (let index = 0; index < total; index++) {
    const isTied = index % tieEvery < tied
    const place = isTied ? index - (index % tieEvery) : index + random.float()
    const isLarge = ofLarge(index + 1) > ofLarge(index)
    const teamId = isLarge ? largeTeam : `team_${others++ % sizes.otherTeams}`
    yield make(teamId, timeOf(place / total))
  }
}

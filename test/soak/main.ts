import { rm } from 'node:fs/promises'
import { Client } from '@elastic/elasticsearch'
import { Command, InvalidArgumentError } from 'commander'
import { Redis } from 'ioredis'
import { type Cluster, type Engines, startCluster, startEngines } from '../../tools/engines/engines.ts'
import { canCutOff } from '../../tools/engines/network.ts'
import { waitUntil } from '../../tools/engines/waiting.ts'
import { Appender } from '../model/appender.ts'
import { SentJournal } from '../model/journal.ts'
import { Problems } from '../model/problems.ts'
import { PollingReader } from '../model/reader.ts'
import { SteadyWriter } from '../model/steadyWriter.ts'
import { Watcher } from '../model/watcher.ts'
import { areInSync, isElasticsearchWhole, isRedisWhole, sentinelAddresses } from '../support/clusterHealth.ts'
import { eventually } from '../support/eventually.ts'
import { openPipeline } from '../support/pipeline.ts'
import { killPrograms } from '../support/programs.ts'
import { temporaryFolder } from '../support/temporaryFolder.ts'
import { oneNodeAfterTheOther } from './clusterFaults.ts'
import { randomFaults } from './faults.ts'
import { FaultTable } from './faultTable.ts'
import { Fleet } from './fleet.ts'
import { Followers } from './followers.ts'
import { randomTeams, steadyTeam } from './rounds.ts'
import { runRounds, type Tally } from './soak.ts'

type Flags = { minutes: number; seed?: number; perSecond: number; nodes: 1 | 3 }

const startDeadlineMs = 420_000
/** Until a returned node has its copies again. */
const wholeDeadlineMs = 180_000
const requestTimeoutMs = 5_000

const positive = (text: string): number => {
  if (!(Number(text) > 0)) throw new InvalidArgumentError('must be a number above 0')
  return Number(text)
}
const oneOrThree = (text: string): 1 | 3 => {
  if (text === '1' || text === '3') return text === '1' ? 1 : 3
  throw new InvalidArgumentError('must be 1 or 3')
}
export const command = new Command()
  .option('--minutes <number>', 'how long faults go on', positive, 15)
  .option('--seed <number>', 'decides the faults and the records (default: a random one)', positive)
  .option('--per-second <number>', 'records of the steady team', positive, 120)
  .option('--nodes <number>', 'nodes of each engine: 1, or 3, each of which fails in its turn', oneOrThree, 1)
  .action(soak)

const say = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

type Releaser = () => Promise<unknown>

/** What is reported at the end, however it comes. */
type Outcome = {
  readonly folder: string
  readonly journal: SentJournal
  readonly table: FaultTable
  readonly tally: Tally
  failures: string[]
  during: string
}

async function soak(flags: Flags): Promise<void> {
  const seed = Math.floor(flags.seed ?? 1 + Math.random() * 1_000_000)
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => stop.abort(new Error(`ended by ${signal}`)))
  say(`soak: seed ${seed}, ${flags.minutes} minutes, ${flags.nodes === 1 ? 'one node' : 'three nodes'} of each engine`)
  const outcome: Outcome = {
    folder: await temporaryFolder('tidemark-soak-'),
    journal: new SentJournal(),
    table: new FaultTable(),
    tally: { rounds: 0, faults: 0 },
    failures: [],
    during: 'the start',
  }
  const releasers: Releaser[] = []
  try {
    await run(flags, seed, outcome, releasers, stop.signal)
  } catch (error) {
    if (stop.signal.aborted) say(`soak: ${String(error)}`)
    else outcome.failures = [...outcome.failures, `${(error as Error).stack ?? String(error)}\n  in ${outcome.during}`]
  } finally {
    for (const release of releasers.reverse()) await release().catch((error: unknown) => say(`soak: ${String(error)}`))
  }
  const { folder, failures } = outcome
  report(outcome, seed)
  if (failures.length === 0) await rm(folder, { recursive: true, force: true })
  else
    say(
      `soak: logs are in ${folder}; repeat with: npm run soak -- --minutes ${flags.minutes} --seed ${seed} --nodes ${flags.nodes}`,
    )
  process.exit(failures.length === 0 && !stop.signal.aborted ? 0 : 1)
}

function report({ table, tally, failures, journal }: Outcome, seed: number): void {
  for (const line of table.lines()) say(line)
  for (const failure of failures) say(`FAILURE ${failure}`)
  say(
    `soak: ${tally.rounds} rounds, ${journal.entries.length} records, ${tally.faults} faults, ${failures.length} failures, seed ${seed}`,
  )
}

/** Rejects with what ended it early. */
async function run(
  flags: Flags,
  seed: number,
  outcome: Outcome,
  releasers: Releaser[],
  stopped: AbortSignal,
): Promise<void> {
  const { folder, table, tally } = outcome
  const start = flags.nodes === 1 ? startEngines : startCluster
  const engines = await start({
    folder,
    distributions: 'var/engines',
    clean: true,
    quick: true,
    signal: AbortSignal.any([stopped, AbortSignal.timeout(startDeadlineMs)]),
  })
  releasers.push(() => engines.stop())
  Object.assign(process.env, engines.urls)
  const pipeline = await openPipeline()
  releasers.push(() => pipeline.close())
  const { names, kafka } = pipeline
  const elasticsearch = new Client({
    nodes: engines.urls.ELASTICSEARCH_URL.split(','),
    requestTimeout: requestTimeoutMs,
    maxRetries: flags.nodes - 1,
  })
  releasers.push(() => elasticsearch.close())
  const redis = connectRedis(engines)
  redis.on('error', () => undefined)
  releasers.push(async () => redis.disconnect())
  const admin = kafka.admin({ retry: { retries: 0 } })
  await admin.connect()
  releasers.push(() => admin.disconnect())
  const over = new AbortController()
  const signal = AbortSignal.any([stopped, over.signal])
  const fail = (error: unknown): void => {
    if (!signal.aborted) over.abort(error)
  }
  const untilEnginesWhole = async (): Promise<void> => {
    if (!('sentinels' in engines)) return
    const isWhole = async (): Promise<boolean> =>
      (await isElasticsearchWhole(elasticsearch)) && (await areInSync(admin, 3)) && (await isRedisWhole(redis))
    const options = { deadlineMs: wholeDeadlineMs, signal }
    if (!(await waitUntil(() => isWhole().catch(() => false), options))) throw new Error('the engines do not recover')
  }
  const { journal } = outcome
  const behind = { elasticsearch, redis, admin, names }
  const problems = new Problems(journal, behind)
  const fleet = new Fleet(names, (what) => fail(new Error(what)))
  releasers.push(async () => {
    fleet.dismiss()
    killPrograms()
    if (outcome.failures.length > 0 || problems.found.length > 0) await fleet.writeLogs(folder)
  })
  await fleet.start()
  const teams = [...randomTeams, steadyTeam]
  await pipeline.createKeys(teams)
  for (const team of teams)
    for (const each of fleet.apis)
      await eventually(async () => (await pipeline.get(each, team, '/api/v1/forms')).status === 200)

  const [steadyAppender, randomWriter] = [1, 2].map(() => new Appender(kafka, journal, names, signal))
  if (steadyAppender === undefined || randomWriter === undefined) throw new Error('there are no appenders')
  releasers.push(() => Promise.all([steadyAppender.close(), randomWriter.close()]))
  const reader = new PollingReader(journal, problems, steadyTeam, steadyAppender.entries)
  const watcher = new Watcher(journal, problems, behind)
  const followers = new Followers(pipeline, fleet.apis, teams, signal)
  const [api] = fleet.apis
  if (api === undefined) throw new Error('no API runs')
  const looking = new AbortController()
  const watching = Promise.all([
    reader.run(fleet.apis, pipeline.keyOf(steadyTeam), AbortSignal.any([signal, looking.signal])),
    watcher.run(api, pipeline.keyOf(steadyTeam), AbortSignal.any([signal, looking.signal])),
  ])
  watching.catch(fail)
  try {
    await runRounds(tally, {
      seed,
      minutes: flags.minutes,
      judged: { journal, problems, apis: fleet.apis, kafka, names, teams, keyOf: pipeline.keyOf, signal },
      stage: { fleet, elasticsearch, redis, prefix: names['INDEX_PREFIX'] ?? '', signal },
      planRound:
        'sentinels' in engines
          ? oneNodeAfterTheOther(engines, { cutsOff: await canCutOff(), untilWhole: untilEnginesWhole })
          : randomFaults(engines.started),
      untilEnginesWhole,
      table,
      fleet,
      steady: new SteadyWriter(steadyAppender, steadyTeam, { seed, perSecond: flags.perSecond }),
      randomWriter,
      reader,
      followers,
      watcher,
      signal,
      fail,
      say,
    })
  } catch (error) {
    throw over.signal.aborted ? over.signal.reason : error
  } finally {
    looking.abort()
    outcome.failures = problems.found
    for (const [kind, count] of problems.counts) say(`soak: ${kind}: ${count} times`)
    outcome.during = problems.during
  }
  await watching
}

function connectRedis({ urls }: Engines | Cluster): Redis {
  const options = { commandTimeout: requestTimeoutMs, maxRetriesPerRequest: 0 }
  if (!('REDIS_SENTINELS' in urls)) return new Redis(urls.REDIS_URL, options)
  const sentinels = sentinelAddresses(urls)
  return new Redis({ ...options, sentinels, name: urls.REDIS_SENTINEL_NAME, failoverDetector: true })
}

import { rm } from 'node:fs/promises'
import { Client } from '@elastic/elasticsearch'
import { Command, InvalidArgumentError } from 'commander'
import { Redis } from 'ioredis'
import { type Cluster, startCluster } from '../../tools/engines/engines.ts'
import { canCutOff } from '../../tools/engines/network.ts'
import { waitUntil } from '../../tools/engines/waiting.ts'
import { Appender } from '../model/appender.ts'
import { SentJournal } from '../model/journal.ts'
import { PollingReader } from '../model/pollingReader.ts'
import { Problems } from '../model/problems.ts'
import { SteadyWriter } from '../model/steadyWriter.ts'
import { Watcher } from '../model/watcher.ts'
import { areInSync, isElasticsearchWhole, isRedisWhole, sentinelAddresses } from '../support/clusterHealth.ts'
import { eventually } from '../support/eventually.ts'
import { openPipeline } from '../support/pipeline.ts'
import { killPrograms } from '../support/programs.ts'
import { temporaryFolder } from '../support/temporaryFolder.ts'
import { oneNodeAfterTheOther } from './faults.ts'
import { FaultTable } from './faultTable.ts'
import { Fleet } from './fleet.ts'
import { Followers } from './followers.ts'
import { randomTeams, steadyTeam } from './rounds.ts'
import { runRounds } from './soak.ts'

type Flags = { minutes: number; seed?: number }

const startDeadlineMs = 420_000
/** Until a returned node has its copies again. */
const wholeDeadlineMs = 180_000
const requestTimeoutMs = 5_000
const steadyPerSecond = 120

const positive = (text: string): number => {
  if (!(Number(text) > 0)) throw new InvalidArgumentError('must be a number above 0')
  return Number(text)
}
export const command = new Command()
  .option('--minutes <number>', 'how long faults go on', positive, 15)
  .option('--seed <number>', 'decides the faults and the records (default: a random one)', positive)
  .action(soak)

const say = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

/** What is reported at the end, however it comes. */
type Outcome = {
  readonly folder: string
  readonly journal: SentJournal
  readonly table: FaultTable
  failures: string[]
  during: string
}

async function soak(flags: Flags): Promise<void> {
  const seed = Math.floor(flags.seed ?? 1 + Math.random() * 1_000_000)
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => stop.abort(new Error(`ended by ${signal}`)))
  say(`soak: seed ${seed}, ${flags.minutes} minutes, three nodes of each engine`)
  const outcome: Outcome = {
    ...{ folder: await temporaryFolder('tidemark-soak-'), journal: new SentJournal(), table: new FaultTable() },
    ...{ failures: [], during: 'the start' },
  }
  try {
    await run({ ...flags, seed }, outcome, stop.signal)
  } catch (error) {
    if (stop.signal.aborted) say(`soak: ${String(error)}`)
    else outcome.failures = [...outcome.failures, `${(error as Error).stack ?? String(error)}\n  in ${outcome.during}`]
  }
  const { folder, failures, table, journal } = outcome
  for (const line of table.lines()) say(line)
  for (const failure of failures) say(`FAILURE ${failure}`)
  say(`soak: ${table.rounds} rounds, ${journal.entries.length} records, ${failures.length} failures, seed ${seed}`)
  if (failures.length === 0) await rm(folder, { recursive: true, force: true })
  else say(`soak: logs are in ${folder}; repeat with: npm run soak -- --minutes ${flags.minutes} --seed ${seed}`)
  process.exit(failures.length === 0 && !stop.signal.aborted ? 0 : 1)
}

/** Rejects with what ended it early. */
async function run(flags: Required<Flags>, outcome: Outcome, stopped: AbortSignal): Promise<void> {
  const { folder, table, journal } = outcome
  await using stack = new AsyncDisposableStack()
  const release = (releaser: () => Promise<unknown>): void =>
    stack.defer(async () => {
      await releaser().catch((error: unknown) => say(`soak: ${String(error)}`))
    })
  const starting = AbortSignal.any([stopped, AbortSignal.timeout(startDeadlineMs)])
  const where = { folder, distributions: 'var/engines', clean: true, quick: true }
  const cluster = await startCluster({ ...where, signal: starting })
  release(() => cluster.stop())
  Object.assign(process.env, cluster.urls)
  const pipeline = await openPipeline()
  release(() => pipeline.close())
  const { names, kafka, keyOf } = pipeline
  const admin = kafka.admin({ retry: { retries: 0 } })
  await admin.connect()
  release(() => admin.disconnect())
  const { elasticsearch, redis } = connect(cluster)
  release(() => elasticsearch.close())
  release(async () => redis.disconnect())
  const over = new AbortController()
  const signal = AbortSignal.any([stopped, over.signal])
  const fail = (error: unknown): void => {
    if (!signal.aborted) over.abort(error)
  }
  const untilEnginesWhole = async (): Promise<void> => {
    const isWhole = async (): Promise<boolean> =>
      (await isElasticsearchWhole(elasticsearch)) && (await areInSync(admin, 3)) && (await isRedisWhole(redis))
    const options = { deadlineMs: wholeDeadlineMs, signal }
    if (!(await waitUntil(() => isWhole().catch(() => false), options))) throw new Error('the engines do not recover')
  }
  const engines = { elasticsearch, redis, admin, names }
  const problems = new Problems(journal, engines)
  const fleet = new Fleet()
  release(async () => {
    fleet.isDismissed = true
    killPrograms()
    await fleet.writeLogs(folder)
  })
  await fleet.start(names, (what) => fail(new Error(what)), starting)
  const { apis } = fleet
  const [api] = apis
  if (api === undefined) throw new Error('no API runs')
  const teams = [...randomTeams, steadyTeam]
  await pipeline.createKeys(teams)
  for (const team of teams)
    for (const each of apis)
      await eventually(async () => (await pipeline.get(each, team, '/api/v1/forms')).status === 200)

  const steadyAppender = new Appender(kafka, journal, names, signal)
  const randomWriter = new Appender(kafka, journal, names, signal)
  release(() => Promise.all([steadyAppender.close(), randomWriter.close()]))
  const reader = new PollingReader(journal, problems, steadyTeam, steadyAppender.entries)
  const watcher = new Watcher(journal, problems, engines)
  const followers = new Followers(pipeline, apis, teams, signal)
  const looking = new AbortController()
  const whileLooking = AbortSignal.any([signal, looking.signal])
  const watching = Promise.all([
    reader.run(apis, keyOf(steadyTeam), whileLooking),
    watcher.run(api, keyOf(steadyTeam), whileLooking),
  ])
  watching.catch(fail)
  const planRound = oneNodeAfterTheOther(cluster, { cutsOff: await canCutOff(), untilWhole: untilEnginesWhole })
  const steady = new SteadyWriter(steadyAppender, steadyTeam, { seed: flags.seed, perSecond: steadyPerSecond })
  try {
    await runRounds({
      ...{ ...flags, journal, problems, apis, kafka, names, teams, keyOf, signal, planRound, untilEnginesWhole, table },
      ...{ fleet, steady, randomWriter, reader, followers, watcher, fail, say },
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

function connect({ urls }: Cluster): { elasticsearch: Client; redis: Redis } {
  const nodes = urls.ELASTICSEARCH_URL.split(',')
  const redis = new Redis({
    ...{ commandTimeout: requestTimeoutMs, maxRetriesPerRequest: 0, failoverDetector: true },
    ...{ sentinels: sentinelAddresses(urls), name: urls.REDIS_SENTINEL_NAME },
  })
  redis.on('error', () => undefined)
  return { elasticsearch: new Client({ nodes, requestTimeout: requestTimeoutMs, maxRetries: 2 }), redis }
}

/** `npm run soak`: random faults on real engines, and a strict check after each round. */
import { rm } from 'node:fs/promises'
import { Client } from '@elastic/elasticsearch'
import { Command, InvalidArgumentError } from 'commander'
import { Redis } from 'ioredis'
import { startEngines } from '../../tools/engines/engines.ts'
import { eventually } from '../support/eventually.ts'
import { openPipeline } from '../support/pipeline.ts'
import { killPrograms } from '../support/programs.ts'
import { temporaryFolder } from '../support/temporaryFolder.ts'
import { Appender } from './appender.ts'
import { Fleet } from './fleet.ts'
import { Journal } from './journal.ts'
import { Problems } from './problems.ts'
import { PollingReader } from './reader.ts'
import { randomTeams, SteadyWriter, steadyTeam } from './rounds.ts'
import { runRounds, type Tally } from './soak.ts'
import { Watcher } from './watcher.ts'

type Flags = { minutes: number; seed?: number; perSecond: number }

const startDeadlineMs = 300_000
const requestTimeoutMs = 5_000

const positive = (text: string): number => {
  if (!(Number(text) > 0)) throw new InvalidArgumentError('must be a number above 0')
  return Number(text)
}
const flags = new Command('soak')
  .description('random faults on real engines, with a strict check after each round; a seed repeats them')
  .option('--minutes <number>', 'how long faults go on', positive, 15)
  .option('--seed <number>', 'decides the faults and the records (default: a random one)', positive)
  .option('--per-second <number>', 'records of the steady team', positive, 120)
  .allowExcessArguments(false)
  .parse()
  .opts<Flags>()
const seed = Math.floor(flags.seed ?? 1 + Math.random() * 1_000_000)

const say = (line: string): void => {
  process.stdout.write(`${line}\n`)
}
const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => stop.abort(new Error(`ended by ${signal}`)))

say(`soak: seed ${seed}, ${flags.minutes} minutes`)
const folder = await temporaryFolder('tidemark-soak-')
const releasers: (() => Promise<unknown>)[] = []
let journal = new Journal()
let failures: string[] = []
let during = 'the start'
const tally: Tally = { rounds: 0, faults: 0 }
try {
  await run()
} catch (error) {
  if (stop.signal.aborted) say(`soak: ${String(error)}`)
  else failures = [...failures, `${(error as Error).stack ?? String(error)}\n  in ${during}`]
} finally {
  for (const release of releasers.reverse()) await release().catch((error: unknown) => say(`soak: ${String(error)}`))
}
for (const failure of failures) say(`FAILURE ${failure}`)
if (failures.length === 0) await rm(folder, { recursive: true, force: true })
else say(`soak: logs are in ${folder}; repeat with: npm run soak -- --minutes ${flags.minutes} --seed ${seed}`)
const { rounds, faults } = tally
say(
  `soak: ${rounds} rounds, ${journal.entries.length} records, ${faults} faults, ${failures.length} failures, seed ${seed}`,
)
process.exit(failures.length === 0 && !stop.signal.aborted ? 0 : 1)

async function run(): Promise<void> {
  const engines = await startEngines({
    folder,
    distributions: 'var/engines',
    clean: true,
    quick: true,
    signal: AbortSignal.any([stop.signal, AbortSignal.timeout(startDeadlineMs)]),
  })
  releasers.push(() => engines.stop())
  Object.assign(process.env, engines.urls)
  const pipeline = await openPipeline()
  releasers.push(() => pipeline.close())
  const { names, kafka } = pipeline
  const elasticsearch = new Client({
    node: engines.urls.ELASTICSEARCH_URL,
    requestTimeout: requestTimeoutMs,
    maxRetries: 0,
  })
  releasers.push(() => elasticsearch.close())
  const redis = new Redis(engines.urls.REDIS_URL, { commandTimeout: requestTimeoutMs, maxRetriesPerRequest: 0 })
  redis.on('error', () => undefined)
  releasers.push(async () => redis.disconnect())
  const admin = kafka.admin({ retry: { retries: 0 } })
  await admin.connect()
  releasers.push(() => admin.disconnect())

  const over = new AbortController()
  const signal = AbortSignal.any([stop.signal, over.signal])
  const fail = (error: unknown): void => {
    if (!signal.aborted) over.abort(error)
  }
  journal = new Journal()
  const behind = { elasticsearch, redis, admin, names }
  const problems = new Problems(journal, behind)
  const fleet = new Fleet(names, (what) => fail(new Error(what)))
  releasers.push(async () => {
    fleet.dismiss()
    killPrograms()
    if (failures.length > 0 || problems.found.length > 0) await fleet.writeLogs(folder)
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
  const reader = new PollingReader(journal, problems, steadyAppender.entries)
  const watcher = new Watcher(journal, problems, behind)
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
      stage: { engines, fleet, elasticsearch, redis, prefix: names['INDEX_PREFIX'] ?? '', signal },
      fleet,
      steady: new SteadyWriter(steadyAppender, seed, flags.perSecond),
      randomWriter,
      reader,
      watcher,
      signal,
      fail,
      say,
    })
  } catch (error) {
    throw over.signal.aborted ? over.signal.reason : error
  } finally {
    looking.abort()
    failures = problems.found
    for (const [kind, count] of problems.counts) say(`soak: ${kind}: ${count} times`)
    during = problems.during
  }
  await watching
}

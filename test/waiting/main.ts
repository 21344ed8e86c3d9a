/** `npm run waiting`: what a thousand requests that wait for a change cost an API process, and how soon they hear of one. */
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TeamId } from '../../src/core/model/ids.ts'
import { type Instant, toInstant } from '../../src/core/model/instant.ts'
import { teamList } from '../../src/core/model/teamList.ts'
import { submissionEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import { startOwnEngines } from '../support/ownEngines.ts'
import { killPrograms, type Program, startProgram, untilReady } from '../support/programs.ts'
import { createTestReplica, type TestReplica } from '../support/replica.ts'
import { liveBytes } from './liveBytes.ts'

const [teams, ofTeam] = [100, 10]
const submissionsOfTeam = 20
const rounds = 3
/** Changes are later than this. */
const since = '2026-11-21T10:00:00.000Z'
const kibibyte = 1024
const idleMs = 5_000
const inspected = { NODE_OPTIONS: '--inspect=127.0.0.1:0' }

const say = (line: string): void => {
  process.stdout.write(`${line}\n`)
}
const quantiles = (values: readonly number[]): string[] => {
  const sorted = [...values].sort((a, b) => a - b)
  return [0.5, 0.99, 1].map((share) => (sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN).toFixed(0))
}

type Stage = { readonly api: Program; readonly replica: TestReplica; readonly keys: ReadonlyMap<string, string> }
type Client = { readonly team: string; readonly answeredAtMs: Promise<number> }

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })

type Asked = { readonly team: string; readonly key: string; readonly watermark: Instant; readonly accept: string }

function wait(api: Program, { team, key, watermark, accept }: Asked): Client {
  const headers = { authorization: `Bearer ${key}`, prefer: 'wait=60', accept }
  const sent = request(`${api.url}/api/v1/records?changedSince=${watermark}`, { agent, headers })
  sent.end()
  const answered = async (): Promise<number> => {
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    let bytes = 0
    for await (const chunk of response) bytes += (chunk as Buffer).length
    if (response.statusCode !== 200 || response.headers['preference-applied'] === undefined || bytes === 0)
      throw new Error(`${response.statusCode} ${response.headers['preference-applied']}`)
    return performance.now()
  }
  const answeredAtMs = answered()
  // It may fail before anybody waits for it; whoever does sees the error all the same.
  answeredAtMs.catch(() => undefined)
  return { team, answeredAtMs }
}

let revision = 1
/** Makes a change of each team visible; resolves with the time from which it was. */
async function change(replica: TestReplica, names: readonly string[], appendedAt: Instant): Promise<number> {
  revision++
  const record = (team: string) => ({ team, id: 's0', revision, entity: submissionEntity({ id: 's0' }), appendedAt })
  await replica.storeSubmissions(...names.map(record))
  const visibleAtMs = performance.now()
  await Promise.all(names.map((team) => replica.replaceChangeToken(teamList('submissions', team as TeamId))))
  return visibleAtMs
}

/** Everybody of every team waits; resolves once they do. */
async function waitAll(stage: Stage, accept: string, watermark: Instant): Promise<readonly Client[]> {
  const clients: Client[] = []
  // Not all at once: each one begins with a query.
  for (const [team, key] of stage.keys) {
    for (let at = 0; at < ofTeam; at++) clients.push(wait(stage.api, { team, key, watermark, accept }))
    await eventually(async () => (await stage.api.metric('tidemark_http_requests_waiting')) === clients.length)
  }
  return clients
}

/** Changes lists of teams, all at once, and returns after how long each of their clients had its answer, the soonest first. */
async function latencies(stage: Stage, clients: readonly Client[], teams: readonly string[], at: Instant) {
  const visibleAtMs = await change(stage.replica, teams, at)
  const own = clients.filter(({ team }) => teams.includes(team))
  return (await Promise.all(own.map(({ answeredAtMs }) => answeredAtMs))).map((atMs) => atMs - visibleAtMs)
}

async function cpuPercent(api: Program): Promise<number> {
  const [beganMs, before] = [performance.now(), await api.metric('process_cpu_seconds_total')]
  await sleep(idleMs)
  const spent = (await api.metric('process_cpu_seconds_total')) - before
  return (100_000 * spent) / (performance.now() - beganMs)
}

async function round(stage: Stage, accept: string, nowMs: number): Promise<readonly string[]> {
  const [watermark, changedAt] = [toInstant(nowMs), toInstant(nowMs + 1)]
  await stage.replica.publishWatermark(watermark)
  const emptyBytes = await liveBytes(stage.api)
  const clients = await waitAll(stage, accept, watermark)
  const kibibytes = ((await liveBytes(stage.api)) - emptyBytes) / clients.length / kibibyte
  const cpu = await cpuPercent(stage.api)
  const names = [...stage.keys.keys()]
  const [oneByOne, together] = [names.slice(0, teams / 2), names.slice(teams / 2)]
  const each: number[] = []
  for (const team of oneByOne) each.push(...(await latencies(stage, clients, [team], changedAt)))
  const all = await latencies(stage, clients, together, changedAt)
  return [kibibytes.toFixed(1), cpu.toFixed(1), ...[each, all].flatMap(quantiles)]
}

say('starting the engines')
const engines = await startOwnEngines()
try {
  const replica = await createTestReplica()
  await replica.completeAccountKeys()
  const keys = new Map<string, string>()
  for (let at = 0; at < teams; at++) {
    const team = `team-${at}`
    keys.set(team, await replica.storeKey(team))
    const records = Array.from({ length: submissionsOfTeam }, (_, number) => {
      const id = `s${number}`
      return { team, id, entity: submissionEntity({ id }), appendedAt: '2026-11-21T09:00:00.000Z' }
    })
    await replica.storeSubmissions(...records)
  }
  const settings = { INDEX_PREFIX: replica.prefix, RATE_LIMIT_PER_MINUTE: '1000000', LOG_LEVEL: 'fatal', ...inspected }
  const api = await startProgram('src/api/main.ts', settings)
  await untilReady(api)
  const figures = ['one team after the other', 'fifty at once'].flatMap((how) =>
    ['p50', 'p99', 'max'].map((which) => `${how}: ${which} ms`),
  )
  say(`| | KiB a client | CPU % while waiting | ${figures.join(' | ')} |`)
  say(`|---|${'---:|'.repeat(2 + figures.length)}`)
  let nowMs = Date.parse(since)
  for (const accept of ['application/json', 'application/x-ndjson'])
    for (let number = 1; number <= rounds; number++) {
      nowMs += 1_000
      say(`| ${[`${accept} ${number}`, ...(await round({ api, replica, keys }, accept, nowMs))].join(' | ')} |`)
    }
  agent.destroy()
  await api.end('SIGTERM')
  await replica.close()
} finally {
  killPrograms()
  await engines.stop()
}

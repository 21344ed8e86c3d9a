import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { toInstant } from '../../src/core/model/instant.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'
import { type Program, startProgram, untilReady } from '../support/programs.ts'
import { createTestReplica, type TestRecord, type TestReplica } from '../support/replica.ts'

const bystander = 'bystander'
const bystanderForms = 100
/** The bystander asks for none of them twice, so that each question reaches Elasticsearch. */
const bystanderSubmissions = 5_000
const bystanderPauseMs = 20
const sampleEveryMs = 100
const storedAtOnce = 1_000

/** One request: its path below `/api/v1`, the media type of its answer, and how many rows that has. */
export type Ask = { readonly path: string; readonly accept?: string; readonly rows: number }

/** A team and what it has. */
type Having = { readonly name: string; readonly submissions?: readonly Entity[]; readonly forms?: readonly Entity[] }

/** A team, and what it asks each process for at the same time. */
export type LargeTeam = Having & { asksOf(process: number): readonly Ask[] }

type Entity = Readonly<Record<string, unknown>> & { readonly id: string }

/** One answer: its status, how many rows it held, and whether its end came. */
export type Received = {
  readonly ask: Ask
  readonly status: number
  readonly rows: number
  readonly isWhole: boolean
  readonly seconds: number
}

/** How another team is answered: the statuses, and the p99 of the kind of question whose p99 is the longest. */
type Bystander = { readonly statuses: Readonly<Record<string, number>>; readonly p99Ms: number }

/** What the requests of one team did: to themselves, to the processes and to another team. */
export type LargeRows = {
  readonly received: readonly Received[]
  readonly peakBytes: readonly number[]
  readonly bystander: Bystander
}

export type LargeStage = Awaited<ReturnType<typeof openLargeStage>>

/** API processes of their own, teams whose rows are large or many, and another team. */
export async function openLargeStage(processes: number) {
  const replica = await createTestReplica()
  await replica.completeAccountKeys()
  const keys = new Map<string, string>()
  const keyOf = (name: string): string => keys.get(name) ?? ''
  const fill = async (team: Having): Promise<void> => {
    keys.set(team.name, await replica.storeKey(team.name))
    await store(replica, team)
  }
  await fill({
    name: bystander,
    submissions: Array.from({ length: bystanderSubmissions }, (_, at) => submissionAt(at)),
    forms: Array.from({ length: bystanderForms }, (_, at) => formAt(at, { title: `Product Knowledge Quiz ${at}` })),
  })
  await replica.publishWatermark(toInstant(Date.now()))
  const apis = await Promise.all(Array.from({ length: processes }, () => startApi(replica.prefix)))
  const startWatch = watcherOf(apis, keyOf(bystander))
  return {
    /** How the other team is answered while nobody else asks for anything. */
    watchAlone: async (ms: number): Promise<Bystander> => {
      const watched = startWatch()
      await sleep(ms)
      return (await watched.stop()).bystander
    },
    fill,
    /** Asks the processes for all that a team asks for, at the same time. */
    ask: async (team: LargeTeam): Promise<LargeRows> => {
      const watched = startWatch()
      const received = await Promise.all(
        apis.flatMap(({ url }, at) => team.asksOf(at).map((ask) => receive(url, ask, keyOf(team.name)))),
      )
      return { received, ...(await watched.stop()) }
    },
    /** Asks one process for an answer, alone. */
    askAlone: (team: LargeTeam, ask: Ask): Promise<Received> => receive(apis[0]?.url ?? '', ask, keyOf(team.name)),
    close: async (): Promise<void> => {
      for (const api of apis) await api.end('SIGTERM')
      await replica.close().catch(() => undefined)
    },
  }
}

async function startApi(prefix: string): Promise<Program> {
  const api = await startProgram('api', {
    INDEX_PREFIX: prefix,
    RATE_LIMIT_PER_MINUTE: '1000000',
    LOG_LEVEL: process.env['LOG_LEVEL'] ?? 'fatal',
    NODE_OPTIONS: '--max-old-space-size=256',
  })
  await untilReady(api)
  return api
}

const createdAt = (at: number): string => toInstant(Date.UTC(2026, 0, 1) + at * 1_000)

/** The submission or form of this number, the later the newer. */
export const submissionAt = (at: number, changes: Readonly<Record<string, unknown>> = {}): Entity =>
  submissionEntity({ id: `s${at}`, submittedAt: createdAt(at), ...changes })
export const formAt = (at: number, changes: Readonly<Record<string, unknown>> = {}): Entity =>
  formEntity({ id: `s${at}`, createdAt: createdAt(at), ...changes })

async function store(replica: TestReplica, { name, submissions = [], forms = [] }: Having): Promise<void> {
  const storeEach = async (entities: readonly Entity[], storeSome: (...some: TestRecord[]) => Promise<void>) => {
    for (let at = 0; at < entities.length; at += storedAtOnce)
      await storeSome(...entities.slice(at, at + storedAtOnce).map((entity) => ({ team: name, id: entity.id, entity })))
  }
  await storeEach(submissions, replica.storeSubmissions)
  await storeEach(forms, replica.storeForms)
}

const rowMarks: Readonly<Record<string, string>> = { 'text/csv': '\n"s' }

/** Reads an answer without keeping it. */
function receive(url: string, ask: Ask, key: string): Promise<Received> {
  const beganMs = performance.now()
  const { path, accept = 'application/json' } = ask
  const mark = rowMarks[accept] ?? '{"id":"s'
  return new Promise((resolve) => {
    let [rows, rest, status] = [0, Buffer.alloc(0), 0]
    const end = (isWhole: boolean): void =>
      resolve({ ask, status, rows, isWhole, seconds: (performance.now() - beganMs) / 1_000 })
    const sent = request(`${url}/api/v1${path}`, { agent: false, headers: { accept, authorization: `Bearer ${key}` } })
    sent.on('error', () => end(false))
    sent.on('response', (response) => {
      status = response.statusCode ?? 0
      response.on('data', (chunk: Buffer) => {
        const bytes = Buffer.concat([rest, chunk])
        for (let at = bytes.indexOf(mark); at !== -1; at = bytes.indexOf(mark, at + 1)) rows++
        rest = bytes.subarray(1 - mark.length)
      })
      response.on('error', () => end(false))
      response.on('end', () => end(response.complete))
    })
    sent.end()
  })
}

/** What the bystander asks for: none of it twice of one process. */
const bystanderAsks: readonly ((at: number) => string)[] = [
  (at) => `/records?since=${createdAt(at - bystanderSubmissions)}`,
  (at) => `/records/s${at % bystanderSubmissions}`,
  (at) => `/forms?titleContains=prodcut+${at % bystanderForms}&limit=${1 + (Math.floor(at / bystanderForms) % 100)}`,
]

/** Starts to poll as the bystander, and to look at the memory of the processes, until it is stopped. */
function watcherOf(apis: readonly Program[], key: string) {
  const asked = apis.map(() => bystanderAsks.map(() => 0))
  return (): { stop(): Promise<Pick<LargeRows, 'peakBytes' | 'bystander'>> } => {
    const over = new AbortController()
    const statuses: Record<string, number> = {}
    const timesOf = bystanderAsks.map(() => [] as number[])
    const peakBytes = apis.map(() => 0)
    const poll = async (api: number, kind: number): Promise<void> => {
      const at = asked[api]?.[kind] ?? 0
      asked[api]?.splice(kind, 1, at + 1)
      const ask = { path: bystanderAsks[kind]?.(at) ?? '', rows: 0 }
      const { status, isWhole, seconds } = await receive(apis[api]?.url ?? '', ask, key)
      timesOf[kind]?.push(seconds * 1_000)
      const name = isWhole ? String(status) : 'no answer'
      statuses[name] = (statuses[name] ?? 0) + 1
    }
    const repeat = async (work: () => Promise<void>, pauseMs: number): Promise<void> => {
      for (; !over.signal.aborted; await sleep(pauseMs)) await work()
    }
    const running = apis.flatMap((api, at) => [
      ...bystanderAsks.map((_, kind) => repeat(() => poll(at, kind), bystanderPauseMs)),
      repeat(async () => {
        peakBytes[at] = Math.max(peakBytes[at] ?? 0, await api.metric('process_resident_memory_bytes').catch(() => 0))
      }, sampleEveryMs),
    ])
    return {
      stop: async () => {
        over.abort()
        await Promise.all(running)
        return { peakBytes, bystander: { statuses, p99Ms: Math.max(...timesOf.map(p99)) } }
      },
    }
  }
}

function p99(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b)
  return sorted[Math.floor(0.99 * (sorted.length - 1))] ?? Number.NaN
}

import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { toInstant } from '../../src/core/model/instant.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'
import type { Program } from '../support/programs.ts'
import { createTestReplica, type TestRecord, type TestReplica } from '../support/replica.ts'
import { startBoundedApi, type Watched, watch } from './bystander.ts'

const bystander = 'bystander'
const bystanderForms = 100
/** The bystander asks for none of them twice, so that each question reaches Elasticsearch. */
const bystanderSubmissions = 5_000
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

/** What the requests of one team did: to themselves, to the processes and to another team. */
export type LargeRows = Watched & {
  readonly received: readonly Received[]
  /** Of the other team, and the kind of question whose p99 is the longest. */
  readonly p99Ms: number
}

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
  const apis = await Promise.all(
    Array.from({ length: processes }, () => startBoundedApi({ INDEX_PREFIX: replica.prefix })),
  )
  const startWatch = watcherOf(apis, keyOf(bystander))
  return {
    /** The other team's p99 while nobody else asks for anything. */
    p99AloneMs: async (forMs: number): Promise<number> => {
      const watched = startWatch()
      await sleep(forMs)
      return (await watched.stop()).p99Ms
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

/** Starts to poll as the bystander until it is stopped. */
function watcherOf(apis: readonly Program[], key: string) {
  const asked = apis.map(() => bystanderAsks.map(() => 0))
  return (): { stop(): Promise<Watched & { readonly p99Ms: number }> } => {
    const timesOf = bystanderAsks.map(() => [] as number[])
    const polls = apis.flatMap(({ url }, api) =>
      bystanderAsks.map((pathOf, kind) => async () => {
        const at = asked[api]?.[kind] ?? 0
        asked[api]?.splice(kind, 1, at + 1)
        const { status, isWhole, seconds } = await receive(url, { path: pathOf(at), rows: 0 }, key)
        timesOf[kind]?.push(seconds * 1_000)
        return isWhole ? String(status) : 'no answer'
      }),
    )
    const watched = watch(apis, polls)
    return { stop: async () => ({ ...(await watched.stop()), p99Ms: Math.max(...timesOf.map(p99)) }) }
  }
}

function p99(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b)
  return sorted[Math.floor(0.99 * (sorted.length - 1))] ?? Number.NaN
}

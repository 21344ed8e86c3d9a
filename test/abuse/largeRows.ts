import { request } from 'node:http'
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
}

/** What the requests of one team did: to themselves, and to each process and another team there. */
export type LargeRows = { readonly received: readonly Received[]; readonly watched: readonly Watched[] }

/** API processes of their own, teams whose rows are large or many, and another team. */
export async function openLargeStage(processes: number) {
  const replica = await createTestReplica()
  await replica.completeAccountKeys()
  const keys = new Map<string, string>()
  const keyOf = (name: string): string => keys.get(name) ?? ''
  const fill = async (team: Having): Promise<void> => {
    keys.set(team.name, await replica.storeKey(team.name))
    await storeTeam(replica, team)
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
  const bystanders = apis.map((api) => ({ api, polls: pollsOf(api, keyOf(bystander)) }))
  // The first answers take longer.
  await Promise.all(bystanders.flatMap(({ polls }) => polls.map((poll) => poll())))
  return {
    fill,
    /** Asks the processes for all that a team asks for, at the same time. */
    ask: async (team: LargeTeam): Promise<LargeRows> => {
      const watches = bystanders.map(({ api, polls }) => watch([api], polls))
      const received = await Promise.all(
        apis.flatMap(({ url }, at) => team.asksOf(at).map((ask) => receive(url, ask, keyOf(team.name)))),
      )
      return { received, watched: await Promise.all(watches.map((each) => each.stop())) }
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

export async function storeTeam(replica: TestReplica, { name, submissions = [], forms = [] }: Having): Promise<void> {
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
  const { path, accept = 'application/json' } = ask
  const mark = rowMarks[accept] ?? '{"id":"s'
  return new Promise((resolve) => {
    let [rows, rest, status] = [0, Buffer.alloc(0), 0]
    const end = (isWhole: boolean): void => resolve({ ask, status, rows, isWhole })
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

/** What the bystander asks for, each again soon after its answer: none of it twice of one process. */
const bystanderAsks: readonly ((at: number) => string)[] = [
  (at) => `/records?since=${createdAt(at - bystanderSubmissions)}`,
  (at) => `/records/s${at % bystanderSubmissions}`,
  (at) => `/forms?titleContains=prodcut+${at % bystanderForms}&limit=${1 + (Math.floor(at / bystanderForms) % 100)}`,
]

/** In how many ways the bystander asks each process. */
export const bystanderWays = bystanderAsks.length

/** What asks a process for the next of each of these. */
const pollsOf = ({ url }: Program, key: string): (() => Promise<string>)[] =>
  bystanderAsks.map((pathOf) => {
    let at = 0
    return async () => {
      const { status, isWhole } = await receive(url, { path: pathOf(at++), rows: 0 }, key)
      return isWhole ? String(status) : 'no answer'
    }
  })

import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { toInstant } from '../../src/core/model/instant.ts'
import { submissionEntity } from '../support/entities.ts'
import { type Program, startProgram, untilReady } from '../support/programs.ts'
import { createTestReplica, type TestReplica } from '../support/replica.ts'

const [greedy, bystander] = ['greedy', 'bystander']
const pagesAtOnce = 16
/** Elasticsearch is given so much at once. */
const storedBytes = 10_000_000
const pageRows = 100
const sampleEveryMs = 100
const bystanderPauseMs = 20

/** One answer: its status, how many rows it held, how many bytes, and whether its end came. */
export type Received = {
  readonly asked: string
  readonly status: number
  readonly rows: number
  readonly bytes: number
  readonly isWhole: boolean
  readonly seconds: number
}

/** What 36 requests for large rows did: to themselves, to the processes and to another team. */
export type LargeRows = {
  readonly received: readonly Received[]
  readonly peakBytes: readonly number[]
  readonly bystander: { readonly statuses: Readonly<Record<string, number>>; readonly p99Ms: number }
}

/** API processes of their own, and a team whose rows are large. */
export type LargeStage = {
  /** Asks each process for pages, NDJSON and CSV at the same time. */
  ask(): Promise<LargeRows>
  /** Asks one process for a page, alone. */
  askForPage(): Promise<Received>
  close(): Promise<void>
}

type LargeStageOptions = { readonly rows: number; readonly rowBytes: number; readonly processes: number }

export async function openLargeStage({ rows, rowBytes, processes }: LargeStageOptions): Promise<LargeStage> {
  const replica = await createTestReplica()
  await replica.completeAccountKeys()
  const [key, bystanderKey] = [await replica.storeKey(greedy), await replica.storeKey(bystander)]
  const atOnce = Math.max(1, Math.floor(storedBytes / rowBytes))
  for (let at = 0; at < rows; at += atOnce) await store(replica, greedy, at, Math.min(atOnce, rows - at), rowBytes)
  await store(replica, bystander, 0, 100, 1)
  await replica.publishWatermark(toInstant(Date.now()))
  const apis = await Promise.all(Array.from({ length: processes }, () => startApi(replica.prefix)))
  const path = '/api/v1/records'
  const ask = async (): Promise<LargeRows> => {
    const watched = watch(apis, bystanderKey)
    const each = apis.flatMap(({ url }) => [
      ...Array.from({ length: pagesAtOnce }, (_, at) =>
        receive(`${url}${path}?limit=${pageRows}&page=${1 + (at % Math.ceil(rows / pageRows))}`, key),
      ),
      receive(`${url}${path}`, key, 'application/x-ndjson'),
      receive(`${url}${path}`, key, 'text/csv'),
    ])
    const received = await Promise.all(each)
    return { received, ...(await watched.stop()) }
  }
  return {
    ask,
    askForPage: () => receive(`${apis[0]?.url}${path}?limit=${pageRows}`, key),
    close: async () => {
      for (const api of apis) await api.end('SIGTERM')
      await replica.close().catch(() => undefined)
    },
  }
}

async function startApi(prefix: string): Promise<Program> {
  const api = await startProgram('src/api/main.ts', {
    INDEX_PREFIX: prefix,
    RATE_LIMIT_PER_MINUTE: '1000000',
    LOG_LEVEL: process.env['LOG_LEVEL'] ?? 'fatal',
    NODE_OPTIONS: '--max-old-space-size=256',
  })
  await untilReady(api)
  return api
}

async function store(replica: TestReplica, team: string, from: number, count: number, bytes: number): Promise<void> {
  const records = Array.from({ length: count }, (_, more) => {
    const at = from + more
    const submittedAt = new Date(Date.UTC(2026, 0, 1) + at * 1_000).toISOString()
    return {
      team,
      id: `s${at}`,
      entity: submissionEntity({ id: `s${at}`, submittedAt, data: { q: 'x'.repeat(bytes) } }),
    }
  })
  await replica.storeSubmissions(...records)
}

const rowMarks: Readonly<Record<string, string>> = { 'application/x-ndjson': '{"id":"s', 'text/csv': '\n"s' }

/** Reads an answer without keeping it. */
function receive(url: string, key: string, accept = 'application/json'): Promise<Received> {
  const beganMs = performance.now()
  const mark = rowMarks[accept] ?? '{"id":"s'
  const asked = `${accept} ${new URL(url).search}`
  return new Promise((resolve) => {
    let [rows, bytes, rest, status] = [0, 0, '', 0]
    const end = (isWhole: boolean): void =>
      resolve({ asked, status, rows, bytes, isWhole, seconds: (performance.now() - beganMs) / 1_000 })
    const sent = request(url, { agent: false, headers: { accept, authorization: `Bearer ${key}` } })
    sent.on('error', () => end(false))
    sent.on('response', (response) => {
      status = response.statusCode ?? 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        const text = rest + chunk.toString('latin1')
        rows += text.split(mark).length - 1
        rest = text.slice(-(mark.length - 1))
      })
      response.on('error', () => end(false))
      response.on('end', () => end(response.complete))
    })
    sent.end()
  })
}

/** Polls as another team, and looks at the memory of the processes, until it is stopped. */
function watch(apis: readonly Program[], key: string): { stop(): Promise<Pick<LargeRows, 'peakBytes' | 'bystander'>> } {
  const over = new AbortController()
  const times: number[] = []
  const statuses: Record<string, number> = {}
  const peakBytes = apis.map(() => 0)
  const poll = async (url: string): Promise<void> => {
    const beganMs = performance.now()
    const status = await fetch(`${url}/api/v1/records`, { headers: { authorization: `Bearer ${key}` } }).then(
      async (response) => {
        await response.arrayBuffer()
        return String(response.status)
      },
      () => 'no answer',
    )
    times.push(performance.now() - beganMs)
    statuses[status] = (statuses[status] ?? 0) + 1
  }
  const repeat = async (work: () => Promise<void>, pauseMs: number): Promise<void> => {
    for (; !over.signal.aborted; await sleep(pauseMs)) await work()
  }
  const running = apis.flatMap((api, at) => [
    repeat(() => poll(api.url), bystanderPauseMs),
    repeat(async () => {
      peakBytes[at] = Math.max(peakBytes[at] ?? 0, await api.metric('process_resident_memory_bytes').catch(() => 0))
    }, sampleEveryMs),
  ])
  return {
    stop: async () => {
      over.abort()
      await Promise.all(running)
      times.sort((a, b) => a - b)
      return { peakBytes, bystander: { statuses, p99Ms: times[Math.floor(0.99 * (times.length - 1))] ?? Number.NaN } }
    },
  }
}

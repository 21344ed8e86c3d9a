import { pause, waitUntil } from '../engines/waiting.ts'
import type { Alternative } from './alternative.ts'
import { apiRequest, ask, exportRequest } from './http.ts'
import { type HttpRequest, type Sample, sampleOf } from './load.ts'
import { whileAppending } from './replica.ts'
import type { Stage } from './stage.ts'
import { submissionMaker } from './submissions.ts'

/** Half of the submissions are of the followed team. `restarts`: whether the program that reads from Kafka is restarted at half time. */
export type FollowSize = { readonly perSecond: number; readonly forMs: number; readonly restarts: boolean }
/**
 * The times are from Kafka's acknowledgement of a submission until the client had it. `readPerChange`: rows that the client read for each submission.
 */
export type Followed = Sample & { readonly lost: number; readonly readPerChange: number }

export const followPollMs = 10
/** The client has the first submission within this time. */
const readyDeadlineMs = 60_000
/** A submission that the client does not have this long after the last change counts as lost. */
const lastPollsMs = 3_000
const otherTeams = 1_000

/** How a client follows the submissions of a team, once it has got the first one. */
export async function follow(
  alternative: Alternative,
  teamId: string,
  size: FollowSize,
  stage: Stage,
): Promise<Followed> {
  const client = new Follower(
    alternative.changes === 'feed' ? await openFeed(alternative, stage) : openWindows(alternative),
  )
  const make = submissionMaker(`followed/${Date.now()}`)
  let appended = 0
  const append = async (due: number): Promise<void> => {
    const teamOf = (at: number): string => (at % 2 === 0 ? teamId : `team_${at % otherTeams}`)
    const records = Array.from({ length: due }, () => make(teamOf(appended++), Date.now()))
    await alternative.append(records)
    client.acknowledged(records.filter(({ key }) => key.startsWith(`${teamId}/`)))
  }
  let sink = await alternative.startSink()
  await append(1)
  const isReady = async (): Promise<boolean> => client.poll(stage.signal).then(() => client.hasSeenAll())
  if (!(await waitUntil(isReady, { deadlineMs: readyDeadlineMs, signal: stage.signal })))
    throw new Error(`${alternative.name} shows no submission within ${readyDeadlineMs / 1_000} s`)
  client.forgetDelays()
  const beganMs = performance.now()
  const restart = async (signal: AbortSignal): Promise<void> => {
    await pause(size.forMs / 2, signal)
    await sink.stop()
    sink = await alternative.startSink()
  }
  await whileAppending(append, size.perSecond, stage.signal, async (signal) => {
    await Promise.all([client.pollFor(size.forMs, signal), ...(size.restarts ? [restart(signal)] : [])])
  })
  const elapsedMs = performance.now() - beganMs
  while (await client.pollFor(lastPollsMs, stage.signal));
  await sink.stop()
  return client.result(elapsedMs)
}

type Row = { readonly id: string; readonly updatedAt: string }
/** The changes since the last poll. */
type Read = (signal: AbortSignal) => Promise<{ readonly rows: readonly Row[]; readonly hasMore: boolean }>

async function openFeed({ origin, accountKey }: Alternative, stage: Stage): Promise<Read> {
  type Page = { readonly items: readonly Row[]; readonly cursor: string; readonly hasMore: boolean }
  const requestOf = (query: Readonly<Record<string, string>>): HttpRequest =>
    apiRequest(accountKey, 'record-changes', { limit: 1_000, ...query })
  const { json } = await ask(origin, requestOf({ cursor: 'latest' }), stage)
  let { cursor } = json as Page
  return async (signal) => {
    const text = await textOf(origin, requestOf({ cursor }), signal)
    if (text === undefined) return { rows: [], hasMore: false }
    const page = JSON.parse(text) as Page
    cursor = page.cursor
    return { rows: page.items, hasMore: page.hasMore }
  }
}

/** Without a change feed: reads the rows that are as new as the newest known row, or newer, as NDJSON. */
function openWindows({ origin, accountKey }: Alternative): Read {
  let since = new Date().toISOString()
  return async (signal) => {
    const text = await textOf(origin, exportRequest(accountKey, { updatedSince: since }), signal)
    const rows = (text ?? '').split('\n').filter(Boolean)
    const newRows = rows.map((row) => JSON.parse(row) as Row)
    since = newRows.reduce((latest, { updatedAt }) => (updatedAt > latest ? updatedAt : latest), since)
    return { rows: newRows, hasMore: false }
  }
}

/** Undefined for another status than 200, such as 503 during a restart. */
async function textOf(
  origin: string,
  { path, headers }: HttpRequest,
  signal: AbortSignal,
): Promise<string | undefined> {
  const answer = await fetch(origin + path, { headers, signal })
  const text = await answer.text()
  return answer.status === 200 ? text : undefined
}

class Follower {
  readonly #readOnce: Read
  readonly #acknowledgedMs = new Map<string, number>()
  readonly #known = new Set<string>()
  #delaysMs: number[] = []
  #read = 0

  constructor(read: Read) {
    this.#readOnce = read
  }

  acknowledged(records: readonly { readonly id: string }[]): void {
    for (const { id } of records) this.#acknowledgedMs.set(id, performance.now())
  }

  hasSeenAll(): boolean {
    return [...this.#acknowledgedMs.keys()].every((id) => this.#known.has(id))
  }

  forgetDelays(): void {
    this.#delaysMs = []
  }

  /** Resolves with whether there was a change. */
  async pollFor(forMs: number, signal: AbortSignal): Promise<boolean> {
    const [knownBefore, endMs] = [this.#known.size, performance.now() + forMs]
    while (performance.now() < endMs) {
      await this.poll(signal)
      await pause(followPollMs, signal)
    }
    return this.#known.size > knownBefore
  }

  async poll(signal: AbortSignal): Promise<void> {
    for (let more = true; more; ) {
      const { rows, hasMore } = await this.#readOnce(signal)
      const nowMs = performance.now()
      for (const { id } of rows) {
        if (this.#known.has(id)) continue
        this.#known.add(id)
        this.#delaysMs.push(nowMs - (this.#acknowledgedMs.get(id) ?? nowMs))
      }
      this.#read += rows.length
      more = hasMore
    }
  }

  result(elapsedMs: number): Followed {
    const changes = this.#acknowledgedMs.size
    const lost = [...this.#acknowledgedMs.keys()].filter((id) => !this.#known.has(id)).length
    return { ...sampleOf(this.#delaysMs, elapsedMs, 0), lost, readPerChange: this.#read / changes }
  }
}

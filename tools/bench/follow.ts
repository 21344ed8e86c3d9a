import { pause, waitUntil } from '../engines/waiting.ts'
import type { Alternative } from './alternative.ts'
import { exportRequest } from './http.ts'
import { type Sample, sampleOf } from './load.ts'
import { whileAppending } from './replica.ts'
import type { Stage } from './stage.ts'
import { submissionMaker } from './submissions.ts'

/** Submissions a second, every second one of the team that is followed, and whether what reads from Kafka is started anew at half time. */
export type FollowSize = { readonly perSecond: number; readonly forMs: number; readonly restarts: boolean }
/** How long after Kafka acknowledged submissions the client had them, how many it never got, and how many rows it read for each. */
export type Followed = Sample & { readonly lost: number; readonly readPerChange: number }

export const followPollMs = 10
/** The first submission is seen by then. */
const readyDeadlineMs = 60_000
/** What no poll has brought by then, after the last change, is lost. */
const lastPollsMs = 3_000
const otherTeams = 1_000

/** Measures how a client follows the submissions of a team as they arrive, from when the first one is seen. */
export async function follow(asked: Alternative, teamId: string, size: FollowSize, stage: Stage): Promise<Followed> {
  const client = new Follower(asked)
  const make = submissionMaker(`followed/${Date.now()}`)
  let appended = 0
  const append = async (due: number): Promise<void> => {
    const teamOf = (at: number): string => (at % 2 === 0 ? teamId : `team_${at % otherTeams}`)
    const records = Array.from({ length: due }, () => make(teamOf(appended++), Date.now()))
    await asked.append(records)
    client.acknowledged(records.filter(({ key }) => key.startsWith(`${teamId}/`)))
  }
  let sink = await asked.startSink()
  await append(1)
  const isReady = async (): Promise<boolean> => client.poll(stage.signal).then(() => client.hasSeenAll())
  if (!(await waitUntil(isReady, { deadlineMs: readyDeadlineMs, signal: stage.signal })))
    throw new Error(`${asked.name} shows no submission within ${readyDeadlineMs / 1_000} s`)
  client.forgetDelays()
  const beganMs = performance.now()
  const restart = async (signal: AbortSignal): Promise<void> => {
    await pause(size.forMs / 2, signal)
    await sink.stop()
    sink = await asked.startSink()
  }
  await whileAppending(append, size.perSecond, stage.signal, async (signal) => {
    await Promise.all([client.pollFor(size.forMs, signal), ...(size.restarts ? [restart(signal)] : [])])
  })
  const elapsedMs = performance.now() - beganMs
  while (await client.pollFor(lastPollsMs, stage.signal));
  await sink.stop()
  return client.found(elapsedMs)
}

/** Asks for what has changed, as NDJSON, again and again. */
class Follower {
  readonly #asked: Alternative
  readonly #acknowledgedMs = new Map<string, number>()
  readonly #known = new Set<string>()
  #delaysMs: number[] = []
  #read = 0
  #since = new Date().toISOString()
  /** Of an answer to the same question without rows that were new. */
  #etag: string | undefined

  constructor(asked: Alternative) {
    this.#asked = asked
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

  /** Polls for so long; tells whether there was anything new. */
  async pollFor(forMs: number, signal: AbortSignal): Promise<boolean> {
    const [knownBefore, endMs] = [this.#known.size, performance.now() + forMs]
    while (performance.now() < endMs) {
      await this.poll(signal)
      await pause(followPollMs, signal)
    }
    return this.#known.size > knownBefore
  }

  async poll(signal: AbortSignal): Promise<void> {
    const { accountKey, sinceParameter, origin } = this.#asked
    const { path, headers } = exportRequest(accountKey, { [sinceParameter]: this.#since }, this.#etag)
    const answer = await fetch(origin + path, { headers, signal })
    const text = await answer.text()
    // 304, or 503 while what reads from Kafka is started anew.
    if (answer.status !== 200) return
    const rows = text.split('\n').filter(Boolean)
    const nowMs = performance.now()
    const found = rows.map((row) => JSON.parse(row) as { readonly id: string; readonly updatedAt: string })
    const added = found.filter(({ id }) => !this.#known.has(id))
    for (const { id } of added) {
      this.#known.add(id)
      this.#delaysMs.push(nowMs - (this.#acknowledgedMs.get(id) ?? nowMs))
    }
    this.#read += rows.length
    this.#etag = added.length === 0 ? (answer.headers.get('etag') ?? undefined) : undefined
    if (added.length === 0) return
    const newest = found.reduce((latest, { updatedAt }) => (updatedAt > latest ? updatedAt : latest), this.#since)
    this.#since = sinceParameter === 'changedSince' ? (answer.headers.get('replica-watermark') ?? this.#since) : newest
  }

  found(elapsedMs: number): Followed {
    const changes = this.#acknowledgedMs.size
    const lost = [...this.#acknowledgedMs.keys()].filter((id) => !this.#known.has(id)).length
    return { ...sampleOf(this.#delaysMs, elapsedMs, 0), lost, readPerChange: this.#read / changes }
  }
}

import { pause } from '../../engines/waiting.ts'
import { apiRequest } from '../http.ts'
import { type Sample, sampleOf } from '../load.ts'
import { whileAppending } from '../replica.ts'
import type { Stage } from '../stage.ts'
import { type MakeSubmission, type SubmissionRecord, submissionMaker } from '../submissions.ts'
import type { Alternative } from './alternative.ts'

export type FollowSize = { readonly perSecond: number; readonly forMs: number }
/** How long after Kafka acknowledged a change the client had it, with what it never got, and what it read for each change. */
export type Followed = Sample & { readonly lost: number; readonly readPerChange: number }

export const pollMs = 50
/** What no poll has brought by then, after the last change, is lost. */
const lastPollsMs = 5_000
const otherTeams = 100

/**
 * Follows the changes of a team as a client does that asks for what is new, as NDJSON, while its submissions are appended, one in two for
 * other teams. At half time the program that reads from Kafka is started anew.
 */
export async function follow(asked: Alternative, teamId: string, size: FollowSize, stage: Stage): Promise<Followed> {
  const acknowledgedMs = new Map<string, number>()
  const delaysMs: number[] = []
  const known = new Set<string>()
  const make: MakeSubmission = submissionMaker(`followed/${Date.now()}`)
  let [appended, read] = [0, 0]
  const append = async (due: number): Promise<void> => {
    const teamOf = (at: number): string => (at % 2 === 0 ? teamId : `team_${at % otherTeams}`)
    const records = Array.from({ length: due }, (): SubmissionRecord => make(teamOf(appended++), Date.now()))
    await asked.append(records)
    const nowMs = performance.now()
    for (const { id, key } of records) if (key.startsWith(`${teamId}/`)) acknowledgedMs.set(id, nowMs)
  }
  let since = new Date().toISOString()
  const poll = async (signal: AbortSignal): Promise<void> => {
    const { path, headers } = apiRequest(asked.accountKey, 'records', { [asked.sinceParameter]: since })
    const answer = await fetch(asked.origin + path, { headers: { ...headers, accept: 'application/x-ndjson' }, signal })
    if (answer.status !== 200) return
    const rows = (await answer.text()).split('\n').filter(Boolean)
    const nowMs = performance.now()
    for (const { id, updatedAt } of rows.map((row) => JSON.parse(row) as { id: string; updatedAt: string })) {
      if (asked.sinceParameter === 'updatedSince' && updatedAt > since) since = updatedAt
      if (known.has(id)) continue
      known.add(id)
      delaysMs.push(nowMs - (acknowledgedMs.get(id) ?? nowMs))
    }
    read += rows.length
    since = answer.headers.get('replica-watermark') ?? since
    await pause(pollMs, signal)
  }
  const pollUntil = async (endMs: number, signal: AbortSignal): Promise<void> => {
    while (performance.now() < endMs) await poll(signal)
  }
  const beganMs = performance.now()
  let running = await asked.startSink()
  const restart = async (signal: AbortSignal): Promise<void> => {
    await pause(size.forMs / 2, signal)
    await running.stop()
    running = await asked.startSink()
  }
  await whileAppending(append, size.perSecond, stage.signal, async (signal) => {
    await Promise.all([pollUntil(beganMs + size.forMs, signal), restart(signal)])
  })
  for (let before = -1; before < known.size; ) {
    before = known.size
    await pollUntil(performance.now() + lastPollsMs, stage.signal)
  }
  await running.stop()
  const changes = acknowledgedMs.size
  const lost = [...acknowledgedMs.keys()].filter((id) => !known.has(id)).length
  return { ...sampleOf(delaysMs, performance.now() - beganMs, 0), lost, readPerChange: read / changes }
}

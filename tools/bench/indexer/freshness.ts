import { seededRandom } from '../../demo/random.ts'
import { pause } from '../../engines/waiting.ts'
import { type Sample, sampleOf } from '../load.ts'
import { createServedKey, startReplica } from '../replica.ts'
import type { Section } from '../report.ts'
import type { Stage } from '../stage.ts'
import { submissionMaker } from '../submissions.ts'
import { type Appending, startAppending } from './appending.ts'

export type FreshnessSize = { readonly warmUpMs: number; readonly measuredMs: number }

/** Who reads the list of a team. */
export type ListReader = { readonly origin: string; readonly accountKey: string; readonly teamId: string }

const eventRates = [10, 100, 1_000]
/** The rate that the limits are for. */
const judgedRate = 100
const limits = { p50Ms: 400, p99Ms: 1_000 }
/** So many wait for an event at once, each for one of a team of its own. */
const readers = 4
const otherTeams = 1_000
/** Until the next event is waited for, at most; it begins at any moment between two refreshes. */
const maxRestMs = 100
const pollMs = 10
/** More than can come for one team while an event is waited for. */
const limit = 20
const askDeadlineMs = 10_000
/** An event that is not seen by then ends the bench. */
const seenDeadlineMs = 10_000

const nameOf = (rate: number): string => `${rate.toLocaleString('en')} events/s`

export const freshnessSection: Section = {
  title: 'From acknowledged by Kafka to seen in a list of the API',
  measure: 'latency',
  rows: eventRates.map((rate) => ({
    label: nameOf(rate),
    of: nameOf(rate),
    ...(rate === judgedRate && { limits }),
  })),
}

/** Starts indexer and API as they are by default, and measures at each rate how long events take from Kafka to a list. */
export async function measureFreshness(stage: Stage, size: FreshnessSize): Promise<Map<string, readonly Sample[]>> {
  const { origin, append } = await startReplica(stage)
  const watching = await Promise.all(
    Array.from({ length: readers }, async (_, at): Promise<ListReader> => {
      const teamId = `team_watched_${at}`
      return { origin, teamId, accountKey: await createServedKey(stage, origin, teamId) }
    }),
  )
  const make = submissionMaker('freshness', true)
  let made = 0
  const makeNow = (teamId = `team_${made++ % otherTeams}`) => make(teamId, Date.now())
  const toTopic = append.bind(undefined, stage.config.TOPIC_SUBMISSIONS)
  const samples = new Map<string, readonly Sample[]>()
  for (const rate of eventRates) {
    process.stdout.write(`Measuring freshness at ${nameOf(rate)}\n`)
    const appending = startAppending(toTopic, makeNow, rate, stage.signal)
    try {
      await watchEvents(watching, appending, size.warmUpMs, stage)
      samples.set(nameOf(rate), [await measureRate(watching, appending, size.measuredMs, stage)])
    } finally {
      await appending.stop()
    }
  }
  return samples
}

async function measureRate(
  watching: readonly ListReader[],
  appending: Appending,
  forMs: number,
  stage: Stage,
): Promise<Sample> {
  const [appended, beganMs, idle] = [appending.appended(), performance.now(), performance.eventLoopUtilization()]
  const delaysMs = await watchEvents(watching, appending, forMs, stage)
  const elapsedMs = performance.now() - beganMs
  const { utilization } = performance.eventLoopUtilization(idle)
  const perSecond = (1_000 * (appending.appended() - appended)) / elapsedMs
  return { ...sampleOf(delaysMs, elapsedMs, utilization), perSecond }
}

/** Every reader waits for one event of its team after the other, for so long; returns how long each took. */
async function watchEvents(
  watching: readonly ListReader[],
  appending: Appending,
  forMs: number,
  { signal }: Stage,
): Promise<number[]> {
  const endMs = performance.now() + forMs
  const delaysMs: number[] = []
  const watch = async (reader: ListReader): Promise<void> => {
    const random = seededRandom(reader.teamId)
    while (performance.now() < endMs) {
      const { etag } = await askList(reader, undefined, signal)
      const { id, acknowledgedMs } = await appending.next(reader.teamId)
      delaysMs.push(await untilListed(reader, etag, id, acknowledgedMs, signal))
      await pause(random.float() * maxRestMs, signal)
    }
  }
  await Promise.all(watching.map(watch))
  return delaysMs
}

/** Asks again and again until the list shows the submission; returns how long that took after it was acknowledged. */
export async function untilListed(
  reader: ListReader,
  etag: string | undefined,
  id: string,
  acknowledgedMs: number,
  signal: AbortSignal,
): Promise<number> {
  let known = etag
  for (;;) {
    const answer = await askList(reader, known, signal)
    const delayMs = performance.now() - acknowledgedMs
    if (answer.ids.includes(id)) return delayMs
    if (delayMs > seenDeadlineMs)
      throw new Error(`${id} is not in its list ${seenDeadlineMs / 1_000} s after Kafka has it`)
    known = answer.etag
    await pause(pollMs, signal)
  }
}

/** Asks for the newest submissions of the team; with an ETag that still holds, the answer has none. */
export async function askList(
  { origin, accountKey }: ListReader,
  etag: string | undefined,
  signal: AbortSignal,
): Promise<{ readonly etag: string | undefined; readonly ids: readonly string[] }> {
  const headers = { authorization: `Bearer ${accountKey}`, ...(etag !== undefined && { 'if-none-match': etag }) }
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(askDeadlineMs)])
  const answer = await fetch(`${origin}/api/v1/records?limit=${limit}`, { headers, signal: bounded })
  const text = await answer.text()
  if (answer.status === 304) return { etag, ids: [] }
  if (answer.status !== 200) throw new Error(`a list is answered ${answer.status}: ${text}`)
  const { items } = JSON.parse(text) as { items: { id: string }[] }
  return { etag: answer.headers.get('etag') ?? undefined, ids: items.map(({ id }) => id) }
}

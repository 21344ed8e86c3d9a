import { pause } from '../../engines/waiting.ts'
import { seededRandom } from '../../sample/random.ts'
import { apiRequest, ask } from '../http.ts'
import { type Sample, sampleOf } from '../load.ts'
import { createServedKey, startReplica, whileAppending } from '../replica.ts'
import type { Section } from '../report.ts'
import type { Stage } from '../stage.ts'
import { type MakeSubmission, type SubmissionRecord, submissionMaker } from '../submissions.ts'

export type FreshnessSize = { readonly warmUpMs: number; readonly measuredMs: number }

/** Who reads the list of a team. */
export type ListReader = { readonly origin: string; readonly accountKey: string; readonly teamId: string }

const eventRates = [10, 100, 1_000]
/** The rate that the limits are for. */
const judgedRate = 100
const limits = { p50Ms: 400, p99Ms: 1_000 }
/** How many readers wait at once, each for an event of its own team. */
const readers = 4
const otherTeams = 1_000
/** A reader rests for a random time up to this, so that events fall at any moment between two refreshes. */
const maxRestMs = 100
const pollMs = 10
/** More events than one team can get while a reader waits. */
const limit = 20
/** The bench fails when an event is not in its list by then. */
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
  const watching: ListReader[] = []
  for (let at = 0; at < readers; at++) {
    const teamId = `team_watched_${at}`
    watching.push({ origin, teamId, accountKey: await createServedKey(stage, origin, teamId) })
  }
  const make = submissionMaker('freshness', true)
  const samples = new Map<string, readonly Sample[]>()
  for (const rate of eventRates) {
    process.stdout.write(`Measuring freshness at ${nameOf(rate)}\n`)
    const events = new Events(make, append.bind(undefined, stage.config.TOPIC_SUBMISSIONS))
    const sample = await whileAppending(events.append, rate, stage.signal, async (signal) => {
      await watchEvents(watching, events, size.warmUpMs, signal)
      return await measureEvents(watching, events, size.measuredMs, signal)
    })
    samples.set(nameOf(rate), [sample])
  }
  return samples
}

type Acknowledged = { readonly id: string; readonly acknowledgedMs: number }

/** Appends submissions, and tells a waiting reader when Kafka acknowledged one of its team (`performance.now()`). */
class Events {
  appended = 0
  readonly #make: MakeSubmission
  readonly #send: (records: readonly SubmissionRecord[]) => Promise<void>
  #wanted: ({ readonly teamId: string } & PromiseWithResolvers<Acknowledged>)[] = []

  constructor(make: MakeSubmission, send: (records: readonly SubmissionRecord[]) => Promise<void>) {
    this.#make = make
    this.#send = send
  }

  /** Appends `due` submissions, first those of waiting readers. */
  append = async (due: number): Promise<void> => {
    const chosen = this.#wanted.splice(0, due)
    const teamOf = (at: number): string => chosen[at]?.teamId ?? `team_${(this.appended + at) % otherTeams}`
    const records = Array.from({ length: due }, (_, at) => this.#make(teamOf(at), Date.now()))
    await this.#send(records)
    this.appended += due
    const acknowledgedMs = performance.now()
    for (const [at, { resolve }] of chosen.entries()) resolve({ id: records[at]?.id ?? '', acknowledgedMs })
  }

  /** Makes the next submission one of this team. Rejects when `signal` aborts. */
  async next(teamId: string, signal: AbortSignal): Promise<Acknowledged> {
    const one = { teamId, ...Promise.withResolvers<Acknowledged>() }
    const stop = (): void => one.reject(signal.reason)
    signal.addEventListener('abort', stop)
    this.#wanted.push(one)
    return await one.promise.finally(() => signal.removeEventListener('abort', stop))
  }
}

async function measureEvents(
  watching: readonly ListReader[],
  events: Events,
  forMs: number,
  signal: AbortSignal,
): Promise<Sample> {
  const [appended, beganMs, idle] = [events.appended, performance.now(), performance.eventLoopUtilization()]
  const delaysMs = await watchEvents(watching, events, forMs, signal)
  const elapsedMs = performance.now() - beganMs
  const { utilization } = performance.eventLoopUtilization(idle)
  const perSecond = (1_000 * (events.appended - appended)) / elapsedMs
  return { ...sampleOf(delaysMs, elapsedMs, utilization), perSecond }
}

/** For `forMs`, every reader waits for one event after the other; returns how long each took. */
async function watchEvents(
  watching: readonly ListReader[],
  events: Events,
  forMs: number,
  signal: AbortSignal,
): Promise<number[]> {
  const endMs = performance.now() + forMs
  const delaysMs: number[] = []
  const watch = async (reader: ListReader): Promise<void> => {
    const random = seededRandom(reader.teamId)
    while (performance.now() < endMs) {
      const { etag } = await askList(reader, undefined, signal)
      const { id, acknowledgedMs } = await events.next(reader.teamId, signal)
      delaysMs.push(await untilListed(reader, etag, id, acknowledgedMs, signal))
      await pause(random.float() * maxRestMs, signal)
    }
  }
  await Promise.all(watching.map(watch))
  return delaysMs
}

/** Polls until the list shows the submission; returns the milliseconds since Kafka acknowledged it. */
async function untilListed(
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

/** The newest submissions of the team; no ids while the ETag still holds. */
async function askList(
  { origin, accountKey }: ListReader,
  etag: string | undefined,
  signal: AbortSignal,
): Promise<{ readonly etag: string | undefined; readonly ids: readonly string[] }> {
  const answer = await ask(origin, apiRequest(accountKey, 'records', { limit }, etag), { signal }, [200, 304])
  const { items = [] } = (answer.json ?? {}) as { items?: { id: string }[] }
  return { etag: answer.etag ?? etag, ids: items.map(({ id }) => id) }
}

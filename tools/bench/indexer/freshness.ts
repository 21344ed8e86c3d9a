import { startProgressBar } from '../../../src/core/process/progressBar.ts'
import { createAccountKey } from '../../demo/accountKeys.ts'
import { seededRandom } from '../../demo/random.ts'
import { pause, waitUntil } from '../../engines/waiting.ts'
import type { Sample } from '../load/generator.ts'
import { startProcesses } from '../processes.ts'
import type { Stage } from '../stage.ts'
import { percentile } from '../statistics.ts'
import { type Appending, startAppending } from './appending.ts'
import { askList, type ListReader, untilListed } from './listReader.ts'
import type { Size } from './size.ts'
import { createSubmissions, type Submissions } from './submissions.ts'

export const eventRates = [10, 100, 1_000] as const
export type EventRate = (typeof eventRates)[number]
/** The one that the targets speak of. */
export const judgedRate: EventRate = 100

/** What was seen at one rate. */
export type Freshness = {
  readonly sample: Sample
  /** Events that were waited for in vain; they count with the whole wait. */
  readonly unseen: number
  /** Requests of all probes in a second. */
  readonly pollsPerSecond: number
  /** How much of one core appending and asking took, 0 to 1 or more. */
  readonly cpuShare: number
}

/** So many wait for an event at once, each for one of a team of its own. */
export const probes = 4
const servingDeadlineMs = 60_000
/** Until the next event is waited for, at most; it begins at any moment between two refreshes. */
const maxRestMs = 100

export const freshnessName = (rate: EventRate): string => `${rate.toLocaleString('en')} events/s`

/** Starts indexer and API as they are by default, and measures how long events take from one to the other at each rate. */
export async function measureFreshness(
  stage: Stage,
  size: Size['freshness'],
): Promise<ReadonlyMap<EventRate, Freshness>> {
  const { origin } = await startProcesses(stage)
  const readers = await Promise.all(
    Array.from({ length: probes }, async (_, at): Promise<ListReader> => {
      const teamId = `team_probe_${at}`
      return { origin, teamId, accountKey: await createAccountKey(teamId, stage.environment, stage.signal) }
    }),
  )
  await untilServed(stage, readers)
  const submissions = createSubmissions('freshness')
  const bar = startProgressBar('Measuring freshness', eventRates.length, process.stdout)
  const found = new Map<EventRate, Freshness>()
  try {
    for (const rate of eventRates) {
      found.set(rate, await measureRate(stage, readers, submissions, rate, size))
      bar.reach(found.size)
    }
  } finally {
    bar.end()
  }
  return found
}

async function untilServed({ signal }: Stage, readers: readonly ListReader[]): Promise<void> {
  const areServed = async (): Promise<boolean> => {
    const answers = await Promise.all(
      readers.map((reader) => askList(reader, undefined, signal).catch(() => undefined)),
    )
    return answers.every((answer) => answer !== undefined)
  }
  if (await waitUntil(areServed, { deadlineMs: servingDeadlineMs, signal })) return
  throw new Error(`The API does not answer within ${servingDeadlineMs / 1_000} s`)
}

async function measureRate(
  stage: Stage,
  readers: readonly ListReader[],
  submissions: Submissions,
  rate: EventRate,
  { warmUpMs, measuredMs }: Size['freshness'],
): Promise<Freshness> {
  const appending = await startAppending(stage, submissions, rate)
  try {
    await watchEvents(stage, readers, appending, warmUpMs)
    const [appended, beganMs] = [appending.appended(), performance.now()]
    const [idle, cpuBefore] = [performance.eventLoopUtilization(), process.cpuUsage()]
    const seen = await watchEvents(stage, readers, appending, measuredMs)
    const elapsedMs = performance.now() - beganMs
    const { user, system } = process.cpuUsage(cpuBefore)
    const delaysMs = seen.map(({ delayMs }) => delayMs)
    return {
      sample: {
        p50Ms: percentile(delaysMs, 0.5),
        p99Ms: percentile(delaysMs, 0.99),
        perSecond: (1_000 * (appending.appended() - appended)) / elapsedMs,
        turns: seen.length,
        busyShare: performance.eventLoopUtilization(idle).utilization,
      },
      unseen: seen.filter(({ isSeen }) => !isSeen).length,
      pollsPerSecond: (1_000 * seen.reduce((sum, { polls }) => sum + polls, 0)) / elapsedMs,
      cpuShare: (user + system) / 1_000 / elapsedMs,
    }
  } finally {
    await appending.stop()
  }
}

type Seen = Awaited<ReturnType<typeof untilListed>>

/** Every reader waits for one event of its team after the other, for so long. */
async function watchEvents(
  { signal }: Stage,
  readers: readonly ListReader[],
  appending: Appending,
  forMs: number,
): Promise<Seen[]> {
  const endMs = performance.now() + forMs
  const seen: Seen[] = []
  const watch = async (reader: ListReader): Promise<void> => {
    const random = seededRandom(reader.teamId)
    while (performance.now() < endMs) {
      const { etag } = await askList(reader, undefined, signal)
      const { id, acknowledgedMs } = await appending.next(reader.teamId)
      seen.push(await untilListed(reader, etag, id, acknowledgedMs, signal))
      await pause(random.float() * maxRestMs, signal)
    }
  }
  await Promise.all(readers.map(watch))
  return seen
}

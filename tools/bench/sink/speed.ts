import { pause, waitUntil } from '../../engines/waiting.ts'
import { type Replica, whileAppending } from '../replica.ts'
import { percentile } from '../report.ts'
import type { Stage } from '../stage.ts'
import { usageOf } from '../usage.ts'
import { entityMaker } from './entities.ts'
import { readKeys } from './state.ts'
import type { Run, Running, Writer } from './writers.ts'

export type Rate = {
  /** From the start of the process until the first documents are found. */
  readonly startMs: number
  /** The other figures are of the time from then until all are found. */
  readonly perSecond: number
  readonly cpuUs: number
  readonly elasticsearchCpuUs: number
  readonly peakResidentBytes: number
}

const rateDeadlineMs = 300_000
const requestTimeout = 30_000

/** How fast a writer with no documents writes a topic of so many submissions. */
export async function measureRate(stage: Stage, [writer, run]: readonly [Writer, Run], records: number): Promise<Rate> {
  await writer.prepare(run)
  const targets = [writer.index(run), ...writer.others(run)]
  const beganMs = performance.now()
  const running = await writer.start(run)
  const usage = (count: number) => ({
    count,
    atMs: performance.now(),
    elasticsearchMs: stage.cpuMsOf(stage.urls.ELASTICSEARCH_URL).elasticsearch ?? Number.NaN,
    ...(usageOf(running.pid) ?? { cpuMs: Number.NaN, peakResidentBytes: Number.NaN }),
  })
  const first = usage(await untilCount(stage, targets, running, 1))
  const last = usage(await untilCount(stage, targets, running, records))
  await running.stop()
  const written = last.count - first.count
  const index = Object.keys(await stage.client.indices.get({ index: `${run.name}*` }, { signal: stage.signal }))
  await stage.client.indices.delete({ index }, { signal: stage.signal })
  return {
    startMs: first.atMs - beganMs,
    perSecond: (1_000 * written) / (last.atMs - first.atMs),
    cpuUs: (1_000 * (last.cpuMs - first.cpuMs)) / written,
    elasticsearchCpuUs: (1_000 * (last.elasticsearchMs - first.elasticsearchMs)) / written,
    peakResidentBytes: last.peakResidentBytes,
  }
}

/** Resolves with the number of documents that each target has, at least. */
async function untilCount(
  { client, signal }: Stage,
  targets: readonly string[],
  running: Running,
  wanted: number,
): Promise<number> {
  let least = 0
  const isReached = async (): Promise<boolean> => {
    const counts = await Promise.all(
      targets.map((index) => client.count({ index, ignore_unavailable: true }, { signal, requestTimeout })),
    )
    least = Math.min(...counts.map(({ count }) => count))
    if (least >= wanted) return true
    await running.expectRunning()
    return false
  }
  if (!(await waitUntil(isReached, { deadlineMs: rateDeadlineMs, signal })))
    throw new Error(`${targets.join(', ')} have ${least} of ${wanted} documents`)
  return least
}

const pollMs = 10
const warmUpMs = 5_000
const seenDeadlineMs = 60_000

export type Freshness = { readonly p50Ms: number; readonly p99Ms: number; readonly count: number }

/** From Kafka's acknowledgement until a search in Elasticsearch finds the document, of a writer that has caught up. */
export async function measureFreshness(
  stage: Stage,
  [writer, run, append]: readonly [Writer, Run, Replica['append']],
  perSecond: number,
  forMs: number,
): Promise<Freshness> {
  await writer.prepare(run)
  const running = await writer.start(run)
  const index = writer.index(run)
  const make = entityMaker(run.topic)
  const pending = new Map<string, number>()
  let delaysMs: number[] = []
  const appendDue = async (due: number): Promise<void> => {
    const records = Array.from({ length: due }, () => make().record(1))
    await append(run.topic, records)
    for (const { key } of records) pending.set(key, performance.now())
  }
  const poll = async (): Promise<void> => {
    const keys = [...pending.keys()].slice(0, maxKeys)
    const found = keys.length === 0 ? [] : await readKeys(stage, index, keys)
    for (const [key] of found) {
      delaysMs.push(performance.now() - (pending.get(key) ?? Number.NaN))
      pending.delete(key)
    }
    await pause(pollMs, stage.signal)
  }
  const pollUntil = async (isOver: () => boolean): Promise<void> => {
    const endMs = performance.now() + seenDeadlineMs
    while (!isOver()) {
      await poll()
      if (performance.now() > endMs) throw new Error(`${index} does not show all submissions`)
    }
  }
  await appendDue(1)
  await pollUntil(() => pending.size === 0)
  await whileAppending(appendDue, perSecond, stage.signal, async () => {
    const beganMs = performance.now()
    await pollUntil(() => performance.now() > beganMs + warmUpMs)
    delaysMs = []
    await pollUntil(() => performance.now() > beganMs + warmUpMs + forMs)
  })
  await pollUntil(() => pending.size === 0)
  await running.stop()
  return { p50Ms: percentile(delaysMs, 0.5), p99Ms: percentile(delaysMs, 0.99), count: delaysMs.length }
}

const maxKeys = 5_000

import { appendFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Client, errors } from '@elastic/elasticsearch'
import { pause } from '../../engines/waiting.ts'
import { elasticsearchCpuMs } from '../scale/heap.ts'
import type { Stage } from '../stage.ts'
import { spreadOf } from '../statistics.ts'
import type { Program } from './program.ts'
import { readUsage, type Usage } from './usage.ts'

/** How a program brought records into Elasticsearch; what its system does not tell of it is left out. */
export type Load = {
  readonly records: number
  /** From the start of its process until the last document could be found. */
  readonly elapsedMs: number
  readonly elasticsearchCpuMs: number
  readonly program?: {
    readonly cpuMs: number
    readonly peakResidentBytes: number
    /** Of all samples the one in the middle. */
    readonly usualResidentBytes: number
  }
}

/** What is to be loaded, and where it can be counted. */
export type Loading = {
  readonly records: number
  /** Indices or aliases, each of which is to hold a document of every record. */
  readonly targets: readonly string[]
  start(): Promise<Program>
}

const pollMs = 100
const deadlineMs = 600_000
const countDeadlineMs = 30_000
/** Elasticsearch tells of CPU time up to a second ago. */
const settleMs = 1_100

const notesOf = ({ logsFolder }: Stage): string => join(logsFolder, 'indexer-loads.ndjson')

/** Forgets what an earlier bench noted of its loads. */
export const forgetLoads = (stage: Stage): Promise<void> => rm(notesOf(stage), { force: true })

/** Starts a program and waits until every record can be found; rejects when that takes ten minutes, or there is more. */
export async function load(stage: Stage, client: Client, { records, targets, start }: Loading): Promise<Load> {
  const cpuBefore = await elasticsearchCpuMs(client, stage)
  const beganMs = performance.now()
  const program = await start()
  const residentBytes: number[] = []
  while (!(await areComplete(client, targets, records, stage))) {
    await program.expectRunning()
    const usage = await readUsage(program.pid)
    if (usage !== undefined) residentBytes.push(usage.residentBytes)
    if (performance.now() - beganMs > deadlineMs)
      throw new Error(`${targets.join(' and ')} do not hold ${records} documents within ${deadlineMs / 60_000} minutes`)
    await pause(pollMs, stage.signal)
  }
  const elapsedMs = performance.now() - beganMs
  const usage = await readUsage(program.pid)
  await pause(settleMs, stage.signal)
  const cpuMs = (await elasticsearchCpuMs(client, stage)) - cpuBefore
  await program.stop()
  const done = {
    records,
    elapsedMs,
    elasticsearchCpuMs: cpuMs,
    ...(usage && { program: costsOf(usage, residentBytes) }),
  }
  // Something is left even of a bench that does not get to its end.
  await appendFile(notesOf(stage), `${JSON.stringify({ targets, ...done })}\n`)
  return done
}

const costsOf = ({ cpuMs, residentBytes, peakResidentBytes }: Usage, samples: readonly number[]) => ({
  cpuMs,
  peakResidentBytes,
  usualResidentBytes: spreadOf([...samples, residentBytes]).median,
})

async function areComplete(
  client: Client,
  targets: readonly string[],
  records: number,
  stage: Stage,
): Promise<boolean> {
  for (const index of targets) {
    const found = await countIn(client, index, stage)
    if (found > records) throw new Error(`${index} holds ${found} documents of ${records} records`)
    if (found < records) return false
  }
  return true
}

async function countIn(client: Client, index: string, { signal }: Stage): Promise<number> {
  try {
    return (await client.count({ index }, { signal, requestTimeout: countDeadlineMs })).count
  } catch (error) {
    // Whoever makes the index has not done so yet, or its shard is about to start.
    if (error instanceof errors.ResponseError && [404, 503].includes(error.statusCode ?? 0)) return 0
    throw error
  }
}

/** Deletes whatever is named like that. */
export async function deleteIndices(client: Client, prefix: string, { signal }: Stage): Promise<void> {
  const index = Object.keys(await client.indices.get({ index: `${prefix}*` }, { signal }))
  if (index.length > 0) await client.indices.delete({ index }, { signal })
}

import { errors } from '@elastic/elasticsearch'
import { pause } from '../../engines/waiting.ts'
import type { Program } from '../program.ts'
import type { Figures } from '../report.ts'
import type { Stage } from '../stage.ts'
import { type Usage, usageOf } from '../usage.ts'

/** CPU time and `usage` are undefined without `/proc`. */
export type Indexing = Figures & { readonly elasticsearchCpuMs: number | undefined; readonly usage: Usage | undefined }

type Task = {
  readonly records: number
  /** Indices or aliases. In the end, each has a document of every record. */
  readonly targets: readonly string[]
  start(): Promise<Program>
}

const pollMs = 100
const deadlineMs = 600_000
const countDeadlineMs = 30_000

/**
 * From the start of the process until every record is searchable. Rejects after ten minutes, if the program ends, or if there are more documents than
 * records.
 */
export async function measureIndexing(stage: Stage, { records, targets, start }: Task): Promise<Indexing> {
  const cpuBeforeMs = elasticsearchCpuMs(stage)
  const beganMs = performance.now()
  const program = await start()
  await untilCounted(stage, targets, records, program.expectRunning)
  const elapsedMs = performance.now() - beganMs
  const usage = usageOf(program.pid)
  const cpuAfterMs = elasticsearchCpuMs(stage)
  await program.stop()
  const cpuMs = cpuBeforeMs === undefined || cpuAfterMs === undefined ? undefined : cpuAfterMs - cpuBeforeMs
  return { count: records, perSecond: (1_000 * records) / elapsedMs, elasticsearchCpuMs: cpuMs, usage }
}

/** Rejects after ten minutes, and when `expectRunning` does. */
export async function untilCounted(
  stage: Stage,
  targets: readonly string[],
  records: number,
  expectRunning?: Program['expectRunning'],
): Promise<void> {
  const beganMs = performance.now()
  while (!(await areComplete(stage, targets, records))) {
    await expectRunning?.()
    if (performance.now() - beganMs > deadlineMs)
      throw new Error(`${targets.join(' and ')} do not hold ${records} documents within ${deadlineMs / 60_000} minutes`)
    await pause(pollMs, stage.signal)
  }
}

async function areComplete(stage: Stage, targets: readonly string[], records: number): Promise<boolean> {
  for (const index of targets) {
    const documents = await countIn(stage, index)
    if (documents > records) throw new Error(`${index} has ${documents} documents of ${records} records`)
    if (documents < records) return false
  }
  return true
}

async function countIn({ client, signal }: Stage, index: string): Promise<number> {
  try {
    return (await client.count({ index }, { signal, requestTimeout: countDeadlineMs })).count
  } catch (error) {
    // The index does not exist yet, or its shard has not started.
    if (error instanceof errors.ResponseError && [404, 503].includes(error.statusCode ?? 0)) return 0
    throw error
  }
}

const elasticsearchCpuMs = ({ cpuMsOf, urls }: Stage): number | undefined =>
  cpuMsOf(urls.ELASTICSEARCH_URL).elasticsearch

import type { Client } from '@elastic/elasticsearch'
import { startProgressBar } from '../../../../src/core/process/progressBar.ts'
import { type Sample, sampleOf } from '../../load/generator.ts'
import { startThread } from '../../load/thread.ts'
import { runRounds, runsIn } from '../../rounds.ts'
import { elasticsearchCpuMs } from '../../scale/heap.ts'
import { readMetrics, sumOf } from '../../scale/ownMetrics.ts'
import type { Stage } from '../../stage.ts'
import type { ServedReplica } from '../replica.ts'
import { whileWriting } from '../writer.ts'
import { changesOf } from './events.ts'
import type { MixedJob, MixedOutcome, Pollers } from './job.ts'
import type { MixedSize } from './size.ts'
import type { MadeForm } from './teams.ts'

/** One pace in one round. */
export type MixedRun = Omit<MixedOutcome, 'latenciesMs'> & {
  /** By kind of answer, or by name of a probe; what was never answered is missing. */
  readonly samples: ReadonlyMap<string, Sample>
  readonly seconds: number
  readonly apiCpuSeconds: number
  readonly elasticsearchCpuSeconds: number
  /** Of the API, afterwards. */
  readonly residentBytes: number
  readonly written: number
}

/** Runs the polling teams at each pace, round by round, while changes are written. By requests a second. */
export async function measureMixed(
  {
    stage,
    client,
    replica,
    pollers,
    forms,
  }: {
    readonly stage: Stage
    readonly client: Client
    readonly replica: ServedReplica
    readonly pollers: Pollers
    readonly forms: readonly MadeForm[]
  },
  { paces, writesPerSecond, leadInMs, measuredMs, rounds }: MixedSize,
): Promise<ReadonlyMap<number, readonly MixedRun[]>> {
  const { config, signal } = stage
  const thread = startThread<MixedJob, MixedOutcome>(new URL('./thread.ts', import.meta.url), pollers)
  stage.release(() => thread.close())
  const changes = changesOf(pollers.teams, forms, config)
  let written = 0
  const writeOne = async (): Promise<void> => {
    const { topic, record } = changes.next().value
    await replica.append([record], topic)
    written += 1
  }
  const read = async () => {
    const text = await readMetrics(replica.adminOrigin, signal)
    return {
      atMs: performance.now(),
      apiCpuSeconds: sumOf(text, 'process_cpu_seconds_total'),
      elasticsearchCpuSeconds: (await elasticsearchCpuMs(client, stage)) / 1_000,
      residentBytes: sumOf(text, 'process_resident_memory_bytes'),
      written,
    }
  }
  const runAt = async (requestsPerSecond: number): Promise<MixedRun> => {
    const before = await read()
    const { latenciesMs, ...outcome } = await thread.perform({ requestsPerSecond, leadInMs, measuredMs }, signal)
    const after = await read()
    const { elapsedMs, busyShare } = outcome
    const samples = [...latenciesMs].map(
      ([name, own]) => [name, sampleOf({ latenciesMs: own, elapsedMs, busyShare })] as const,
    )
    return {
      ...outcome,
      samples: new Map(samples),
      seconds: (after.atMs - before.atMs) / 1_000,
      apiCpuSeconds: after.apiCpuSeconds - before.apiCpuSeconds,
      elasticsearchCpuSeconds: after.elasticsearchCpuSeconds - before.elasticsearchCpuSeconds,
      residentBytes: after.residentBytes,
      written: after.written - before.written,
    }
  }
  const contenders = paces.map((pace) => ({ name: String(pace), run: () => runAt(pace) }))
  const bar = startProgressBar('Measuring under a mixed load', runsIn(rounds, paces.length), process.stdout)
  const runs = await whileWriting(writeOne, writesPerSecond, signal, () =>
    runRounds(contenders, { ...rounds, report: bar.reach }),
  ).finally(bar.end)
  return new Map([...runs].map(([pace, own]) => [Number(pace), own]))
}

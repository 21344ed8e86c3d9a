import { seededRandom } from '../../../demo/random.ts'
import { elasticsearchCpuMs } from '../../indexer/usage.ts'
import { type Sample, sampleOf } from '../../load.ts'
import type { Stage } from '../../stage.ts'
import { anyAnswer, type Poller, type Polling, poll, unchanged } from './polling.ts'
import { type Habits, type PollingTeam, pollingScript } from './script.ts'

export type Load = Polling & { readonly name: string }

/** One load in one round. */
export type MixedRun = {
  /** By kind of answer, or by name of a probe; what was never answered is missing. */
  readonly samples: ReadonlyMap<string, Sample>
  readonly perSecond: number
  readonly conditionalShare: number
  readonly unchangedShare: number
  readonly writtenPerSecond: number
  /** CPU time a request, with what indexing takes. */
  readonly elasticsearchMs: number
}

/** So many scripts, which go on in each round with what they heard in the one before. */
export const pollersOf = (teams: readonly PollingTeam[], habits: Habits, count: number): Poller[] =>
  Array.from({ length: count }, (_, at) => {
    const team = teams[at % teams.length]
    if (team === undefined) throw new Error('there are no polling teams')
    return { team, script: pollingScript(team, habits, seededRandom(`polling/${at}`)) }
  })

/** Puts a load on an API for a time; `written` tells how many changes there were so far. */
export async function runLoad(
  load: Load,
  times: { readonly leadInMs: number; readonly measuredMs: number },
  written: () => number,
  stage: Stage,
): Promise<MixedRun> {
  const { measuredMs } = times
  const cpuBeforeMs = await elasticsearchCpuMs(stage)
  const [writtenBefore, beganMs, idle] = [written(), performance.now(), performance.eventLoopUtilization()]
  const { latenciesMs, conditional } = await poll(load, times, stage.signal)
  const { utilization } = performance.eventLoopUtilization(idle)
  const elapsedMs = performance.now() - beganMs
  const writtenPerSecond = (1_000 * (written() - writtenBefore)) / elapsedMs
  const cpuShare = ((await elasticsearchCpuMs(stage)) - cpuBeforeMs) / elapsedMs
  const countOf = (name: string): number => latenciesMs.get(name)?.length ?? 0
  const asked = countOf(anyAnswer)
  return {
    samples: new Map([...latenciesMs].map(([name, own]) => [name, sampleOf(own, measuredMs, utilization)])),
    perSecond: (1_000 * asked) / measuredMs,
    conditionalShare: conditional / asked,
    unchangedShare: countOf(unchanged) / conditional,
    writtenPerSecond,
    elasticsearchMs: (cpuShare * measuredMs) / asked,
  }
}

import { startProgressBar } from '../../src/core/process/progressBar.ts'
import type { LoadGenerator, Sample } from './load/generator.ts'
import type { Pace, Target } from './load/job.ts'
import type { Samples, Section } from './report.ts'
import { type Contender, runRounds, runsIn } from './rounds.ts'
import type { Stage } from './stage.ts'

/** What contenders are measured with. */
export type Measuring = { readonly generator: LoadGenerator; readonly stage: Stage }

/** Contenders of the same rounds, and how they compare. */
export type Comparison = { readonly contenders: readonly Contender<Sample>[]; readonly sections: readonly Section[] }

export const rounds = { warmUps: 1, measured: 5 }

/** A target that the load generator asks at a pace; `targetOf` is told the round, from 0. */
export const loadContender = (
  name: string,
  { generator, stage }: Measuring,
  pace: Pace,
  targetOf: (round: number) => Target,
): Contender<Sample> => ({
  name,
  run: (round) => generator.perform({ target: targetOf(round), pace }, stage.signal),
})

/** Runs all rounds of a comparison; `label` says so on the terminal. */
export async function measure(label: string, { contenders }: Comparison, wanted = rounds): Promise<Samples> {
  const bar = startProgressBar(label, runsIn(wanted, contenders.length), process.stdout)
  return await runRounds(contenders, { ...wanted, report: bar.reach }).finally(bar.end)
}

/** Several comparisons as one. */
export const together = (parts: readonly Comparison[]): Comparison => ({
  contenders: parts.flatMap(({ contenders }) => contenders),
  sections: parts.flatMap(({ sections }) => sections),
})

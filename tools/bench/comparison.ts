import { startProgressBar } from '../../src/core/process/progressBar.ts'
import { type Asked, load, type Pace, type Sample } from './load.ts'
import type { Row, Section } from './report.ts'
import type { Stage } from './stage.ts'

export type Comparison<Measured = Sample> = {
  readonly contenders: readonly Contender<Measured>[]
  readonly sections: readonly Section[]
}

/** Requests are sent in turn. `requestsOf` gets the number of the round, from 0. */
export const asking = (
  name: string,
  origin: string,
  pace: Pace,
  { signal, cpuMsOf }: Stage,
  requestsOf: (round: number) => readonly Asked[],
): Contender<Sample> => ({
  name,
  run: (round) => load({ origin, requests: requestsOf(round), readCpuMs: () => cpuMsOf(origin) }, pace, signal),
})

/** `to`: what the contender is compared with. */
export type Asker = Pick<Row, 'label' | 'to'> & {
  readonly origin: string
  requestsOf(round: number): readonly Asked[]
}

/** With one connection by latency, with several by answers a second. */
export function sideBySide(title: string, pace: Pace, askers: readonly Asker[], stage: Stage): Comparison {
  const isCalm = pace.connections === 1
  const whole = `${title}, ${isCalm ? 'one request after the other' : `${pace.connections} at once`}`
  const nameOf = (label: string): string => `${whole}: ${label}`
  return {
    contenders: askers.map(({ label, origin, requestsOf }) => asking(nameOf(label), origin, pace, stage, requestsOf)),
    sections: [
      {
        title: whole,
        measure: isCalm ? 'latency' : 'answers a second',
        rows: askers.map(({ label, to }) => ({
          label,
          of: nameOf(label),
          ...(to && { to: { ...to, of: nameOf(to.of) } }),
        })),
      },
    ],
  }
}

export const together = (comparisons: readonly Comparison[]): Comparison => ({
  contenders: comparisons.flatMap(({ contenders }) => contenders),
  sections: comparisons.flatMap(({ sections }) => sections),
})

/** `run` measures the contender once, and gets the number of the round, from 0. */
export type Contender<T> = { readonly name: string; run(round: number): Promise<T> }

/** Results of warm-ups do not count. */
export type Rounds = { readonly warmUps: number; readonly measured: number }

/**
 * Every contender runs once a round, so that changes of the machine's load affect all of them. Each round starts with another contender. Resolves
 * with the results of the measured rounds, by name. `label`: of the progress bar.
 */
export async function runRounds<T>(
  label: string,
  contenders: readonly Contender<T>[],
  { warmUps, measured }: Rounds,
): Promise<Map<string, T[]>> {
  const samples = new Map(contenders.map(({ name }) => [name, [] as T[]]))
  const total = warmUps + measured
  const bar = startProgressBar(label, total * contenders.length, process.stdout)
  let runs = 0
  try {
    for (let round = 0; round < total; round++)
      for (const { name, run } of rotated(contenders, Math.floor((round * contenders.length) / total))) {
        const sample = await run(round)
        if (round >= warmUps) samples.get(name)?.push(sample)
        bar.reach(++runs)
      }
  } finally {
    bar.end()
  }
  return samples
}

export const rotated = <T>(items: readonly T[], by: number): T[] => [...items.slice(by), ...items.slice(0, by)]

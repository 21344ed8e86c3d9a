import { startProgressBar } from '../../src/core/process/progressBar.ts'

/** One side of a comparison; `run` measures it once and is told the round, from 0. */
export type Contender<T> = { readonly name: string; run(round: number): Promise<T> }

/** How often every contender runs; what the warm-ups bring is not counted. */
export type Rounds = { readonly warmUps: number; readonly measured: number }

/**
 * Runs every contender once a round, so that whatever changes on the machine meets all of them. Each round begins with another
 * contender. Returns by name what the measured rounds brought; `label` names the progress bar.
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

/** The same items in the same order, beginning with another one. */
export const rotated = <T>(items: readonly T[], by: number): T[] => [...items.slice(by), ...items.slice(0, by)]

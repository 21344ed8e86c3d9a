/** Something to be measured; `run` measures it once and is told the round, from 0. */
export type Contender<T> = { readonly name: string; run(round: number): Promise<T> }

export type Rounds = {
  /** Run first, and forgotten. */
  readonly warmUps: number
  readonly measured: number
  /** Hears after each run how many have been. */
  readonly report: (runs: number) => void
}

/** How often contenders run in all. */
export const runsIn = ({ warmUps, measured }: Omit<Rounds, 'report'>, contenders: number): number =>
  (warmUps + measured) * contenders

/**
 * Runs every contender once a round, so that whatever changes on the machine meets all of them. Each round begins with another
 * contender. Answers by name what the measured rounds brought.
 */
export async function runRounds<T>(
  contenders: readonly Contender<T>[],
  { warmUps, measured, report }: Rounds,
): Promise<Map<string, T[]>> {
  const samples = new Map(contenders.map(({ name }) => [name, [] as T[]]))
  const total = warmUps + measured
  let runs = 0
  for (let round = 0; round < total; round++)
    for (const { name, run } of rotated(contenders, Math.floor((round * contenders.length) / total))) {
      const sample = await run(round)
      if (round >= warmUps) samples.get(name)?.push(sample)
      report(++runs)
    }
  return samples
}

/** The same items in the same order, beginning with another one. */
export const rotated = <T>(items: readonly T[], by: number): T[] => [...items.slice(by), ...items.slice(0, by)]

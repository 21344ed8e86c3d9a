/** The middle of several values, and how far they lie apart. */
export type Spread = { readonly median: number; readonly min: number; readonly max: number }

/** The smallest of `values` that at least the share `rank`, above 0 to 1, of them does not exceed. Throws when there are none. */
export function percentile(values: readonly number[], rank: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const found = sorted[Math.ceil(rank * sorted.length) - 1]
  if (found === undefined) throw new Error('nothing was measured')
  return found
}

/** Throws when there are no values. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]]
  const [min, max] = [sorted.at(0), sorted.at(-1)]
  if (low === undefined || high === undefined || min === undefined || max === undefined)
    throw new Error('nothing was measured')
  return { median: (low + high) / 2, min, max }
}

/** What each round's `of` is to the `base` of the same round: what disturbed the machine in a round disturbed both. */
export function ratiosByRound(of: readonly number[], base: readonly number[]): number[] {
  if (of.length !== base.length) throw new Error('both sides of a ratio belong to the same rounds')
  return of.map((value, round) => value / (base[round] ?? Number.NaN))
}

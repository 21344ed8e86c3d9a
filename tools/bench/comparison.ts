import { type Asked, load, type Pace, type Sample } from './load.ts'
import type { Section } from './report.ts'
import type { Contender } from './rounds.ts'

/** Contenders that run in the same rounds, and how they compare. */
export type Comparison = { readonly contenders: readonly Contender<Sample>[]; readonly sections: readonly Section[] }

/** A contender that is asked requests in turn at a pace; `requestsOf` is told the round, from 0. */
export const asking = (
  name: string,
  origin: string,
  pace: Pace,
  signal: AbortSignal,
  requestsOf: (round: number) => readonly Asked[],
): Contender<Sample> => ({ name, run: (round) => load({ origin, requests: requestsOf(round) }, pace, signal) })

/** Several comparisons as one. */
export const together = (comparisons: readonly Comparison[]): Comparison => ({
  contenders: comparisons.flatMap(({ contenders }) => contenders),
  sections: comparisons.flatMap(({ sections }) => sections),
})

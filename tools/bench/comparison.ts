import { type Asked, load, type Pace, type Sample } from './load.ts'
import type { Row, Section } from './report.ts'
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

/** Who is asked what, and by its label the one of the same comparison that it is held against. */
export type Asker = Pick<Row, 'label' | 'to'> & {
  readonly origin: string
  /** Is told the round, from 0. */
  requestsOf(round: number): readonly Asked[]
}

/** Askers at the same pace: one connection by latency, several by answers a second. */
export function sideBySide(title: string, pace: Pace, askers: readonly Asker[], signal: AbortSignal): Comparison {
  const isCalm = pace.connections === 1
  const whole = `${title}, ${isCalm ? 'one request after the other' : `${pace.connections} at once`}`
  const nameOf = (label: string): string => `${whole}: ${label}`
  return {
    contenders: askers.map(({ label, origin, requestsOf }) => asking(nameOf(label), origin, pace, signal, requestsOf)),
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

/** Several comparisons as one. */
export const together = (comparisons: readonly Comparison[]): Comparison => ({
  contenders: comparisons.flatMap(({ contenders }) => contenders),
  sections: comparisons.flatMap(({ sections }) => sections),
})

import type { RelevanceCase } from './cases.ts'

/** A case and the titles found. */
export type Verdict = { readonly relevanceCase: RelevanceCase; readonly found: readonly string[] }

export type Figures = {
  readonly rows: number
  /** The share of expected titles that was found; 1 when none was expected. */
  readonly recall: number
  /** The share of found titles that was expected; 1 when none was found. */
  readonly precision: number
}

/** A title that was missed, or found without being expected. */
export type Failure = Pick<RelevanceCase, 'place' | 'query' | 'why'> & {
  readonly title: string
  readonly isExpected: boolean
}

/** Minimum figures of a group of cases. */
export const thresholds = { recall: 0.99, precision: 0.97 }

/** Whether both thresholds are reached. */
export const areGood = ({ recall, precision }: Figures): boolean =>
  recall >= thresholds.recall && precision >= thresholds.precision

/** Micro-averaged recall and precision: every title counts once. */
export function figuresOf(verdicts: readonly Verdict[]): Figures {
  const sum = (count: (verdict: Verdict) => number): number =>
    verdicts.reduce((total, verdict) => total + count(verdict), 0)
  const right = sum(
    ({ relevanceCase, found }) => found.filter((title) => relevanceCase.expected.includes(title)).length,
  )
  const share = (all: number): number => (all === 0 ? 1 : right / all)
  return {
    rows: verdicts.length,
    recall: share(sum(({ relevanceCase }) => relevanceCase.expected.length)),
    precision: share(sum(({ found }) => found.length)),
  }
}

/** All titles that were found or missed unexpectedly. */
export const failuresOf = (verdicts: readonly Verdict[]): Failure[] =>
  verdicts.flatMap(({ relevanceCase: { place, titles, query, expected, why }, found }) =>
    titles
      .filter((title) => expected.includes(title) !== found.includes(title))
      .map((title) => ({ place, query, why, title, isExpected: expected.includes(title) })),
  )

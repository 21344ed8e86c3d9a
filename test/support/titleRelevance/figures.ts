import type { RelevanceCase } from './cases.ts'

/** A row and the titles that were answered. */
export type Verdict = { readonly relevanceCase: RelevanceCase; readonly found: readonly string[] }

export type Figures = {
  readonly rows: number
  /** The share of the expected titles that was found; 1 when none was expected. */
  readonly recall: number
  /** The share of the titles found that was expected; 1 when none was found. */
  readonly precision: number
}

/** A title that was missed, or found without being expected. */
export type Failure = Pick<RelevanceCase, 'place' | 'query' | 'why'> & {
  readonly title: string
  readonly isExpected: boolean
}

/** What the figures of a group of rows must reach. */
export const thresholds = { recall: 0.99, precision: 0.97 }

/** Whether both thresholds are reached. */
export const areGood = ({ recall, precision }: Figures): boolean =>
  recall >= thresholds.recall && precision >= thresholds.precision

/** Every title counts once. */
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

/** Every title that was answered or left out against expectation. */
export const failuresOf = (verdicts: readonly Verdict[]): Failure[] =>
  verdicts.flatMap(({ relevanceCase: { place, titles, query, expected, why }, found }) =>
    titles
      .filter((title) => expected.includes(title) !== found.includes(title))
      .map((title) => ({ place, query, why, title, isExpected: expected.includes(title) })),
  )

/** An item of `/record-counts` with `scores=true`. `key`: the value; null for submissions without a value. */
type Total = {
  readonly key: string | null
  readonly count: number
  readonly scores: { readonly count: number; readonly mean: number | null }
}
/** By day and value. */
type CountOfDay = { readonly key: readonly [time: string, value: string | null]; readonly count: number }
type Series = {
  /** Null also for a sum of several values (`others`). */
  readonly key: string | null
  readonly count: number
  /** Submissions with a score. */
  readonly scored: number
  /** Null without scores, or if the API has no mean of them. */
  readonly mean: number | null
  readonly counts: readonly number[]
  /** How many values are summed; left out for one. */
  readonly others?: number
}
/** Makes a series for each value of `totals`: its count on each of `dates`, also 0. */
export function seriesOf(dates: readonly string[], totals: readonly Total[], byDay: readonly CountOfDay[]): Series[]
/** If there are more than `maxSeries`, the last series is the sum of all others. */
export function withOthers(allSeries: readonly Series[], maxSeries: number): readonly Series[]

/** An item of `/record-counts` with `scores=true`. `key`: the value; null for submissions without a value. */
type Total = {
  readonly key: string | null
  readonly count: number
  readonly scores: { readonly count: number; readonly mean: number | null }
}
/** An item of `/record-counts` by day and value. */
type CountOfDay = { readonly key: readonly [time: string, value: string | null]; readonly count: number }
type Series = {
  /** The value; null for submissions without a value, and for a sum of several values (`others`). */
  readonly key: string | null
  readonly count: number
  /** How many of the submissions have a score. */
  readonly scored: number
  /** Of the scores; null if there are none, or the API has no mean of them. */
  readonly mean: number | null
  /** Of each day. */
  readonly counts: readonly number[]
  /** How many values are added up in this series; left out for one value. */
  readonly others?: number
}
/** Makes a series for each value of `totals`: its count on each of `dates`, also 0. */
export function seriesOf(dates: readonly string[], totals: readonly Total[], byDay: readonly CountOfDay[]): Series[]
/** At most `maxSeries` series. If there are more, the last one is the sum of all others, and its `others` is their number. */
export function withOthers(allSeries: readonly Series[], maxSeries: number): readonly Series[]

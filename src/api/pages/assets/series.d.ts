type Total = {
  readonly key: string | null
  readonly count: number
  readonly scores: { readonly count: number; readonly mean: number | null }
}
type CountOfDay = { readonly key: readonly [time: string, value: string | null]; readonly count: number }
type Series = {
  readonly key: string | null
  readonly count: number
  /** How many of the submissions have a score. */
  readonly scored: number
  readonly mean: number | null
  /** Of each day. */
  readonly counts: readonly number[]
  /** How many values are added up in this series. */
  readonly others?: number
}
/** A series for each value of `totals`: its count on each of `dates`, also 0. */
export function seriesOf(dates: readonly string[], totals: readonly Total[], byDay: readonly CountOfDay[]): Series[]
/** At most `most` series. Further ones are added up in the last, whose `others` is their number. */
export function withOthers(series: readonly Series[], most: number): readonly Series[]

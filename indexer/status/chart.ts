import { type Html, html } from '../../src/core/process/html.ts'

/** A value at a time; undefined when it was unknown. */
export type Point = { readonly atMs: number; readonly value: number | undefined }

const width = 320
const height = 64
/** Space above and below the line, so that its stroke is not cut off. */
const margin = 2
const perMs = (fromMs: number, toMs: number): number => width / Math.max(1, toMs - fromMs)

/**
 * A line over time from `fromMs` to `toMs`, on a scale that begins at 0, with a gap wherever the value was unknown. `label` is
 * read out by screen readers.
 */
export function lineChart(
  points: readonly Point[],
  { fromMs, toMs, label }: { fromMs: number; toMs: number; label: string },
): Html {
  const highest = highestOf(points) ?? 0
  const x = (atMs: number): string => ((atMs - fromMs) * perMs(fromMs, toMs)).toFixed(1)
  const y = (value: number): string =>
    (height - margin - (highest === 0 ? 0 : (value / highest) * (height - 2 * margin))).toFixed(1)
  const runs = runsOf(points.filter(({ atMs }) => atMs >= fromMs))
  const lineOf = (run: readonly Known[]): string => run.map(({ atMs, value }) => `${x(atMs)} ${y(value)}`).join('L')
  const areaOf = (run: readonly Known[]): string =>
    `M${x(run[0]?.atMs ?? fromMs)} ${height}L${lineOf(run)}L${x(run.at(-1)?.atMs ?? fromMs)} ${height}Z`
  return html`<svg class="chart" viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-label="${label}">
<path class="ground" d="M0 ${height - 0.5}H${width}"/>
<path class="area" d="${runs.map(areaOf).join('')}"/>
<path class="line" d="${runs.map((run) => `M${lineOf(run)}`).join('')}"/>
</svg>`
}

/** The highest value; undefined when none is known. */
export function highestOf(points: readonly Point[]): number | undefined {
  const known = points.flatMap(({ value }) => (value === undefined ? [] : [value]))
  return known.length === 0 ? undefined : Math.max(...known)
}

type Known = { readonly atMs: number; readonly value: number }

/** The runs of known values between the gaps. */
function runsOf(points: readonly Point[]): Known[][] {
  const runs: Known[][] = []
  let isOpen = false
  for (const { atMs, value } of points) {
    if (value === undefined) isOpen = false
    else if (isOpen) runs.at(-1)?.push({ atMs, value })
    else {
      runs.push([{ atMs, value }])
      isOpen = true
    }
  }
  return runs
}

/** A bar for a share of a whole, 0 to 1. */
export const meter = (label: string, share: number, inWords: string): Html =>
  html`<svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label="${label}: ${inWords}"><rect class="whole" width="100" height="6"/><rect class="part" width="${Math.min(100, Math.max(0, 100 * share)).toFixed(1)}" height="6"/></svg>`

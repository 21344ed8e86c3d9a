import { html } from 'hono/html'
import type { Html } from './html.ts'

/** A figure at a moment; undefined where it was not known. */
export type Point = { readonly atMs: number; readonly value: number | undefined }

const width = 320
const height = 64
/** Leaves the whole width of the line within the drawing. */
const margin = 2
const perMs = (fromMs: number, toMs: number): number => width / Math.max(1, toMs - fromMs)

/**
 * A line over time from `fromMs` to `toMs`, on a scale that begins at 0; it breaks where the figure was not known. `label`
 * says in words what it shows.
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

/** The highest figure; undefined when none is known. */
export function highestOf(points: readonly Point[]): number | undefined {
  const known = points.flatMap(({ value }) => (value === undefined ? [] : [value]))
  return known.length === 0 ? undefined : Math.max(...known)
}

type Known = { readonly atMs: number; readonly value: number }

/** What lies between two gaps. */
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

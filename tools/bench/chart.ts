import type { Spread } from './statistics.ts'
import { number } from './table.ts'

/** Bars of one scale, which begins at 0. */
export type BarGroup = {
  readonly title: string
  readonly unit: string
  readonly bars: readonly Bar[]
  /** What the longest bar would stand for; the highest value of the group when it is left out. */
  readonly longest?: number
}

/** What is noted stands behind its figure. */
type Bar = { readonly label: string; readonly value: Spread; readonly note?: string }

const width = 880
const labelWidth = 330
const barWidth = 420
const noteWidth = 130
const barHeight = 16
const rowHeight = 24
const titleHeight = 36
const margin = 20

/** An SVG of horizontal bars, each with its median, and a line from the lowest to the highest; it follows the reader's light or dark. */
export function renderBarChart(title: string, groups: readonly BarGroup[]): string {
  const parts: string[] = []
  let top = margin + titleHeight
  for (const group of groups) {
    parts.push(text(margin, top + barHeight, 'group', `${group.title}, ${group.unit}`))
    top += titleHeight - 8
    const highest = group.longest ?? Math.max(...group.bars.map(({ value }) => value.max))
    const longest = group.bars.some(({ note }) => note !== undefined) ? barWidth - noteWidth : barWidth
    for (const each of group.bars) {
      parts.push(bar(each, top, longest / highest))
      top += rowHeight
    }
    top += margin
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${top}" width="${width}" height="${top}" role="img" aria-label="${escaped(title)}">
<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 17px; font-weight: 600 }
  .group { font-weight: 600 }
  .ground { fill: #ffffff }
  .bar { fill: #54aeff }
  .range { stroke: #0a3069; stroke-width: 2 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .ground { fill: #0d1117 }
    .bar { fill: #1f6feb }
    .range { stroke: #cae8ff }
  }
</style>
<rect class="ground" width="${width}" height="${top}"/>
${text(margin, margin + 14, 'title', title)}
${parts.join('\n')}
</svg>
`
}

function bar({ label, value: { median, min, max }, note }: Bar, top: number, pixelsPerUnit: number): string {
  const left = margin + labelWidth
  const [end, from, to] = [median, min, max].map((value) => round(left + value * pixelsPerUnit))
  const middle = top + barHeight / 2
  return [
    text(margin, top + 13, 'label', label),
    `<rect class="bar" x="${left}" y="${top}" width="${round(median * pixelsPerUnit)}" height="${barHeight}"/>`,
    `<line class="range" x1="${from}" y1="${middle}" x2="${to}" y2="${middle}"/>`,
    text(Math.max(end ?? 0, to ?? 0) + 8, top + 13, 'value', number(median) + (note === undefined ? '' : `, ${note}`)),
  ].join('\n')
}

const text = (x: number, y: number, kind: string, content: string): string =>
  `<text class="${kind}" x="${x}" y="${y}">${escaped(content)}</text>`
const round = (value: number): number => Math.round(value * 10) / 10
const escaped = (content: string): string =>
  content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')

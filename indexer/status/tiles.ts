import { type Html, html } from '../../src/core/process/html.ts'
import { count, duration, rate } from './format.ts'
import { historyMs, type Observed, type Sample } from './observe.ts'

type Level = 'good' | 'warn' | 'bad' | 'idle'

type Tile = {
  readonly title: string
  readonly now: number | undefined
  readonly say: (value: number) => string
  readonly level: Level
  readonly about: string
  readonly of: (sample: Sample) => number | undefined
}

/** The four most important figures, each with its chart of the last 15 minutes. */
export function tiles({ watermarkMs, group }: Observed, samples: readonly Sample[], nowMs: number): Html {
  const age = watermarkMs === undefined ? undefined : Math.max(0, nowMs - watermarkMs) / 1_000
  const behind = group?.value.partitions.reduce((sum, { behindRecords }) => sum + behindRecords, 0)
  const all: Tile[] = [
    {
      title: 'Watermark age',
      now: age,
      say: duration,
      level: watermarkLevel(age),
      about: 'Everything appended to Kafka before it is searchable.',
      of: (sample) => sample.watermarkAgeSeconds,
    },
    {
      title: 'Records behind',
      now: behind,
      say: count,
      level: 'idle',
      about: 'Appended to Kafka and not visible yet, all partitions.',
      of: (sample) => sample.behindRecords,
    },
    {
      title: 'Records a second',
      now: group?.value.recordsPerSecond,
      say: rate,
      level: 'idle',
      about: 'Made visible by all indexers together.',
      of: (sample) => sample.recordsPerSecond,
    },
    {
      title: 'Dead letters',
      now: group?.value.deadLetters,
      say: count,
      level: (group?.value.deadLetters ?? 0) > 0 ? 'warn' : 'idle',
      about: 'Dead-lettered records that Kafka still keeps.',
      of: (sample) => sample.deadLetters,
    },
  ]
  return html`<section class="tiles" aria-label="Figures">${all.map((each) => tile(each, samples, nowMs))}</section>`
}

function tile({ title, now, say, level, about, of }: Tile, samples: readonly Sample[], nowMs: number): Html {
  const points: Point[] = samples.map((sample) => ({ atMs: sample.atMs, value: of(sample) }))
  if (now !== undefined) points.push({ atMs: nowMs, value: now })
  const highest = highestOf(points)
  const shown = now === undefined ? 'not known' : say(now)
  const label = `${title} over the last 15 minutes: ${shown} now, ${highest === undefined ? 'nothing before' : `${say(highest)} at most`}`
  return html`<article class="panel tile ${level}">
<h2>${title}</h2>
<p class="figure">${shown}</p>
<p class="muted">${about}</p>
${lineChart(points, { fromMs: nowMs - historyMs, toMs: nowMs, label })}
<p class="scale" aria-hidden="true"><span>15 min ago</span><span>${highest === undefined ? '' : `at most ${say(highest)}`}</span><span>now</span></p>
</article>`
}

const lateSeconds = 30
const veryLateSeconds = 300

/** The level of a watermark's age, by the thresholds of the alerts. */
function watermarkLevel(ageSeconds: number | undefined): Level {
  if (ageSeconds === undefined || ageSeconds > veryLateSeconds) return 'bad'
  return ageSeconds > lateSeconds ? 'warn' : 'good'
}

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

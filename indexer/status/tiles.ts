import { type Html, html } from '../../src/core/process/html.ts'
import { highestOf, lineChart, type Point } from './chart.ts'
import { count, duration, rate } from './format.ts'
import { historyMs, type Sample } from './observe.ts'
import type { StatusView } from './view.ts'

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
export function tiles({ nowMs, samples, observed }: StatusView): Html {
  const { watermarkMs } = observed
  const age = watermarkMs === undefined ? undefined : Math.max(0, nowMs - watermarkMs) / 1_000
  const group = observed.group?.value
  const behind = group?.partitions.reduce((sum, { behindRecords }) => sum + behindRecords, 0)
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
      now: group?.recordsPerSecond,
      say: rate,
      level: 'idle',
      about: 'Made visible by all indexers together.',
      of: (sample) => sample.recordsPerSecond,
    },
    {
      title: 'Dead letters',
      now: group?.deadLetters,
      say: count,
      level: (group?.deadLetters ?? 0) > 0 ? 'warn' : 'idle',
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

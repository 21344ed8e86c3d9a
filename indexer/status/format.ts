import { type Html, html } from '../../src/core/pages/html.ts'

const minute = 60
const hour = 3_600
const day = 86_400
const mebi = 1024 ** 2

export const orUnknown = (value: number | undefined, format: (value: number) => string): string =>
  value === undefined ? 'not known' : format(value)

/** Rounded down, such as `1.4 s`, `95 s`, `14 min`, `30 h` or `3 days`. */
export function duration(seconds: number): string {
  if (seconds === 0) return '0 s'
  if (seconds < 10) return `${(Math.floor(seconds * 10) / 10).toFixed(1)} s`
  if (seconds < 2 * minute) return `${Math.floor(seconds)} s`
  if (seconds < 2 * hour) return `${Math.floor(seconds / minute)} min`
  return seconds < 2 * day ? `${Math.floor(seconds / hour)} h` : `${Math.floor(seconds / day)} days`
}

export const size = (bytes: number): string =>
  `${(bytes / mebi).toLocaleString('en', { maximumFractionDigits: 1 })} MiB`

export const count = (value: number): string => Math.round(value).toLocaleString('en')

/** `1 record`, `1,200 records`. */
export const counted = (value: number, noun: string): string =>
  `${count(value)} ${noun}${Math.round(value) === 1 ? '' : 's'}`

/** `14:03:22` in UTC; of another day than `nowMs`, `28 Nov 14:03:22`. */
export function clockText(epochMs: number, nowMs: number): string {
  const [date, time] = new Date(epochMs).toISOString().split(/[T.]/) as [string, string]
  if (new Date(nowMs).toISOString().startsWith(date)) return time
  const dayText = new Date(epochMs).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
  return `${dayText} ${time}`
}

export const timeOfDay = (epochMs: number, nowMs: number): Html =>
  html`<time datetime="${new Date(epochMs).toISOString()}">${clockText(epochMs, nowMs)}</time>`

/** `0–3, 5`. */
export function ranges(numbers: readonly number[]): string {
  const runs: [first: number, last: number][] = []
  for (const number of numbers.toSorted((a, b) => a - b)) {
    const run = runs.at(-1)
    if (run !== undefined && run[1] === number - 1) run[1] = number
    else runs.push([number, number])
  }
  return runs.map(([first, last]) => (first === last ? first : `${first}–${last}`)).join(', ')
}

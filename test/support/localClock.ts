/** The clock of a time zone, from `Intl` alone; proleptic Gregorian calendar. */
export type LocalClock = {
  /** Local time as text, `2026-03-29T03:00:00.000+02:00`, without seconds of the offset. */
  read(epochMs: number): string
  /** The start (epoch ms) of the local hour, day or month that contains a time. */
  startOf(unit: TimeUnit, epochMs: number): number
}

export type TimeUnit = 'hour' | 'day' | 'month'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
/** An upper bound for the length of each unit on any clock, with clock changes. */
const longestMs: Readonly<Record<TimeUnit, number>> = { hour: 3 * hourMs, day: 2 * dayMs, month: 33 * dayMs }

export function localClock(timeZone: string): LocalClock {
  const format = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' })
  const offsetOf = (epochMs: number): number => {
    const name = format.formatToParts(epochMs).find(({ type }) => type === 'timeZoneName')?.value ?? ''
    const [, sign, hours = '0', minutes = '0', seconds = '0'] =
      /^GMT(?:([+-])(\d+):(\d+)(?::(\d+))?)?$/.exec(name) ?? []
    const offsetMs = Number(hours) * hourMs + Number(minutes) * minuteMs + Number(seconds) * 1_000
    return sign === '-' ? -offsetMs : offsetMs
  }
  /** The time since which the clock has the offset of `toMs`, if it changed after `fromMs`. */
  const changeBetween = (fromMs: number, toMs: number): number => {
    const offset = offsetOf(toMs)
    return startBetween(fromMs, toMs, (at) => offsetOf(at) === offset)
  }
  /** An hour begins when the clock shows a full hour. */
  const startOfHour = (epochMs: number): number => {
    const offset = offsetOf(epochMs)
    const fullHour = Math.floor((epochMs + offset) / hourMs) * hourMs - offset
    return offsetOf(fullHour) === offset ? fullHour : startOfHour(changeBetween(fullHour, epochMs) - 1)
  }
  const dateOf = (unit: 'day' | 'month', epochMs: number): string =>
    new Date(epochMs + offsetOf(epochMs)).toISOString().slice(0, unit === 'day' ? -14 : -17)
  const starts = new Map<string, number>()
  /** A day or a month begins with the first millisecond of its date. */
  const startOfDate = (unit: 'day' | 'month', epochMs: number): number => {
    const date = dateOf(unit, epochMs)
    const known = starts.get(date)
    if (known !== undefined) return known
    const isOnDate = (at: number): boolean => dateOf(unit, at) === date
    const last = startBetween(epochMs - longestMs[unit], epochMs, isOnDate)
    // A clock set back soon after midnight shows the former date again: the new date begins twice, and the first time counts.
    const minutes = offsetOf(last - 3 * hourMs) === offsetOf(last) ? 0 : 3 * 60
    const earlier = Array.from({ length: minutes }, (_, at) => last - (minutes - at) * minuteMs)
    const again = earlier.find(isOnDate)
    const start = again === undefined ? last : startBetween(again - minuteMs, again, isOnDate)
    starts.set(date, start)
    return start
  }
  return {
    read: (epochMs) => {
      const offset = offsetOf(epochMs)
      const minutes = Math.floor(Math.abs(offset) / minuteMs)
      const two = (value: number): string => String(value).padStart(2, '0')
      const written = `${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
      return new Date(epochMs + offset).toISOString().slice(0, -1) + written
    },
    startOf: (unit, epochMs) => (unit === 'hour' ? startOfHour(epochMs) : startOfDate(unit, epochMs)),
  }
}

/** The time between `fromMs` (where `holds` is false) and `toMs` (true) at which `holds` becomes true, by bisection. */
function startBetween(fromMs: number, toMs: number, holds: (atMs: number) => boolean): number {
  let [before, after] = [fromMs, toMs]
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2)
    if (holds(middle)) after = middle
    else before = middle
  }
  return after
}

/** The starts of all units from the one that contains `fromMs` to the one that contains `toMs`. */
export function startsBetween({ startOf }: LocalClock, unit: TimeUnit, fromMs: number, toMs: number): number[] {
  const shortestMs = { hour: 15 * minuteMs, day: 20 * hourMs, month: 27 * dayMs }[unit]
  const stepMs = { hour: 15 * minuteMs, day: hourMs, month: 6 * hourMs }[unit]
  const starts = [startOf(unit, fromMs)]
  for (let at = fromMs; ; ) {
    const last = starts.at(-1) ?? fromMs
    at = last + shortestMs
    while (startOf(unit, at) === last) at += stepMs
    const next = startOf(unit, at)
    if (next > toMs) return starts
    starts.push(next)
  }
}

const dayMs = 86_400_000
const hourMs = 3_600_000

/** Returns a function from an instant (epoch ms) to its date in a time zone, as in `2026-11-29`. Swedish dates have the format of ISO 8601. */
const datesIn = (timeZone) => {
  const format = new Intl.DateTimeFormat('sv', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' })
  return (instantMs) => format.format(instantMs)
}

/** The date of a midnight in UTC. */
const dateOf = (utcMidnightMs) => new Date(utcMidnightMs).toISOString().slice(0, 10)

/** The dates of the last `count` days in a time zone, the oldest first. */
export function lastDates(nowMs, count, timeZone) {
  const today = datesIn(timeZone)(nowMs)
  return Array.from({ length: count }, (_, index) => dateOf(Date.parse(today) - (count - 1 - index) * dayMs))
}

/** The first instant of the day after a date. */
export const startOfNextDate = (date, timeZone) => startOfDate(dateOf(Date.parse(date) + dayMs), timeZone)

/**
 * The first instant (epoch ms) of a date in a time zone: usually midnight; 01:00 where the clock is put forward at midnight. Of a date that the zone left
 * out, the first instant after it.
 *
 * Found by halving the time between two instants: the first is before this date in every zone (+14:00 at most), the second is not (-12:00 at least).
 */
export function startOfDate(date, timeZone) {
  const dateAt = datesIn(timeZone)
  const utcMidnightMs = Date.parse(date)
  let beforeMs = utcMidnightMs - 15 * hourMs
  let startMs = utcMidnightMs + 13 * hourMs
  while (startMs - beforeMs > 1) {
    const middleMs = Math.floor((beforeMs + startMs) / 2)
    if (dateAt(middleMs) < date) beforeMs = middleMs
    else startMs = middleMs
  }
  return startMs
}

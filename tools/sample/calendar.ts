const hourMs = 3_600_000
const dayMs = 24 * hourMs
const weekendShare = 0.35

/** How busy quiz takers are by the hour of a UTC day. */
const busynessByHour = [3, 2, 2, 2, 3, 5, 9, 16, 26, 32, 30, 26, 22, 26, 30, 28, 24, 19, 16, 17, 18, 14, 9, 5]

/**
 * Arrival times in the `days` before `nowMs`: more on working days than at weekends, more by day than by night, and each week
 * a little more than the week before. The returned function maps a share of all submissions, 0 to 1, to the epoch ms at
 * which it had arrived; it never decreases.
 */
export function busyTimes(nowMs: number, days: number): (share: number) => number {
  const startMs = nowMs - days * dayMs
  const hours = days * 24
  const until = new Float64Array(hours + 1)
  for (let hour = 0; hour < hours; hour++)
    until[hour + 1] = at(until, hour) + busyness(startMs + hour * hourMs, hour / hours)
  const total = at(until, hours)
  return (share) => {
    const wanted = share * total
    let [low, high] = [0, hours]
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if (at(until, middle) <= wanted) low = middle
      else high = middle
    }
    const inHour = (wanted - at(until, low)) / (at(until, high) - at(until, low))
    return Math.min(Math.floor(startMs + (low + inHour) * hourMs), nowMs)
  }
}

function busyness(epochMs: number, age: number): number {
  const time = new Date(epochMs)
  const isWeekend = time.getUTCDay() === 0 || time.getUTCDay() === 6
  return (busynessByHour[time.getUTCHours()] ?? 1) * (isWeekend ? weekendShare : 1) * (1 + age)
}

const at = (values: Float64Array, index: number): number => values[index] ?? 0

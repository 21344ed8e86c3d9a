export const timeUnits = ['hour', 'day', 'month'] as const
export type TimeUnit = (typeof timeUnits)[number]

/** A span of time, both ends included. */
export type TimeSpan = { readonly fromMs: number; readonly toMs: number }

/** A window of time that may be open. */
export type TimeWindow = { readonly sinceMs: number | undefined; readonly untilMs: number | undefined }

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const shortestMs: Readonly<Record<TimeUnit, number>> = { hour: hourMs, day: dayMs, month: 28 * dayMs }

/**
 * A span of at most so many units that is likely to hold what a window selects: it ends with the window or a day from now, or begins
 * with the window when that began later.
 */
export function likelySpan(unit: TimeUnit, units: number, { sinceMs, untilMs }: TimeWindow, nowMs: number): TimeSpan {
  const lengthMs = (units - 1) * shortestMs[unit]
  const fromMs =
    untilMs === undefined ? Math.max(sinceMs ?? Number.NEGATIVE_INFINITY, nowMs + dayMs - lengthMs) : untilMs - lengthMs
  return { fromMs, toMs: fromMs + lengthMs }
}

/** The number of units of time from one moment to another, both included, on the clock of UTC. */
export const spannedUnits = (unit: TimeUnit, { fromMs, toMs }: TimeSpan): number =>
  numberOf(unit, toMs) - numberOf(unit, fromMs) + 1

/** Numbers the units one after the other. */
function numberOf(unit: TimeUnit, epochMs: number): number {
  switch (unit) {
    case 'hour':
      return Math.floor(epochMs / hourMs)
    case 'day':
      return Math.floor(epochMs / dayMs)
    case 'month': {
      const date = new Date(epochMs)
      return date.getUTCFullYear() * 12 + date.getUTCMonth()
    }
  }
}

import type { TimeSpan } from './clauses.ts'

export const timeUnits = ['hour', 'day', 'month'] as const
export type TimeUnit = (typeof timeUnits)[number]

const dayMs = 86_400_000
export const shortestMs: Readonly<Record<TimeUnit, number>> = { hour: 3_600_000, day: dayMs, month: 28 * dayMs }

/** The last `units` units, or fewer, until tomorrow or the end of the window: a span that probably holds all submissions. */
export function likelySpan(unit: TimeUnit, units: number, nowMs: number, untilMs: number): TimeSpan {
  const toMs = Math.min(nowMs + dayMs, untilMs)
  return { fromMs: toMs - (units - 1) * shortestMs[unit], toMs }
}

/** The number of UTC units that a span touches. */
export const spannedUnits = (unit: TimeUnit, { fromMs, toMs }: TimeSpan): number =>
  numberOf(unit, toMs) - numberOf(unit, fromMs) + 1

/** The ordinal number of the UTC unit that contains a time. */
function numberOf(unit: TimeUnit, epochMs: number): number {
  if (unit !== 'month') return Math.floor(epochMs / shortestMs[unit])
  const date = new Date(epochMs)
  return date.getUTCFullYear() * 12 + date.getUTCMonth()
}

export const timeUnits = ['hour', 'day', 'month'] as const
export type TimeUnit = (typeof timeUnits)[number]

const hourMs = 3_600_000

/** The number of units of time from one moment to another, both included, on the clock of UTC. */
export function spannedUnits(unit: TimeUnit, fromMs: number, toMs: number): number {
  return numberOf(unit, toMs) - numberOf(unit, fromMs) + 1
}

/** Numbers the units one after the other. */
function numberOf(unit: TimeUnit, epochMs: number): number {
  switch (unit) {
    case 'hour':
      return Math.floor(epochMs / hourMs)
    case 'day':
      return Math.floor(epochMs / (24 * hourMs))
    case 'month': {
      const date = new Date(epochMs)
      return date.getUTCFullYear() * 12 + date.getUTCMonth()
    }
  }
}

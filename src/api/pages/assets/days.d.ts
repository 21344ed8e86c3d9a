/** The dates (`2026-11-29`) of the last `count` days in a time zone, the oldest first. */
export function lastDates(nowMs: number, count: number, timeZone: string): string[]
/** The first instant (epoch ms) of a date in a time zone; of a date that the zone left out, the first instant after it. */
export function startOfDate(date: string, timeZone: string): number
export function startOfNextDate(date: string, timeZone: string): number

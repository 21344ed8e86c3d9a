/** The dates (`2026-11-29`) of the last `count` days of a time zone, the oldest first. */
export function lastDates(nowMs: number, count: number, timeZone: string): string[]
/** The first instant of a date in a time zone, in milliseconds; of a date that the zone left out, the first instant after it. */
export function startOfDate(date: string, timeZone: string): number
/** The first instant of the day after a date. */
export function startOfNextDate(date: string, timeZone: string): number

/** An exact bound of a window, in ticks of 10^-18 s since 1970 UTC. */
export type PlainBound = { readonly ticks: bigint; readonly isWholeDay: boolean }

const fractionDigits = 18
const ticksPerSecond = 10n ** BigInt(fractionDigits)
const ticksPerMs = ticksPerSecond / 1_000n
const daySeconds = 86_400n
const form =
  /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,18}))?)?(?:(Z)|([+ -])(\d{2})(?::?(\d{2}))?)?)?$/

/** Parses a date or a date-time of a window parameter; undefined if invalid. */
export function readBound(text: string): PlainBound | undefined {
  const groups = form.exec(text)
  if (groups === null) return undefined
  const [year, month, day, hour, minute, second] = groups.slice(1, 7).map((digits) => Number(digits ?? 0)) as Six
  const midnight = new Date(0)
  midnight.setUTCFullYear(year, month - 1, day)
  // Date.UTC has turned an impossible day into another one.
  if (midnight.getUTCMonth() !== month - 1 || midnight.getUTCDate() !== day) return undefined
  if (hour > 23 || minute > 59 || second > 59) return undefined
  const [fraction = '', , sign, offsetHours = '0', offsetMinutes = '0'] = groups.slice(7)
  if (Number(offsetHours) > 23 || Number(offsetMinutes) > 59) return undefined
  const west = sign === '-' ? -1n : 1n
  const offsetSeconds = west * BigInt(Number(offsetHours) * 3_600 + Number(offsetMinutes) * 60)
  const seconds = BigInt(midnight.getTime() / 1_000 + hour * 3_600 + minute * 60 + second)
  const ticks = (seconds - offsetSeconds) * ticksPerSecond + BigInt(fraction.padEnd(fractionDigits, '0'))
  return { ticks, isWholeDay: groups[4] === undefined }
}

/** Whether a time (epoch ms) is at or after a bound. */
export const isFrom = (epochMs: number, { ticks }: PlainBound): boolean => BigInt(epochMs) * ticksPerMs >= ticks

/** Whether a time (epoch ms) is at or before a bound; a whole day ends where the next one begins. */
export const isUpTo = (epochMs: number, { ticks, isWholeDay }: PlainBound): boolean =>
  isWholeDay
    ? BigInt(epochMs) * ticksPerMs < ticks + daySeconds * ticksPerSecond
    : BigInt(epochMs) * ticksPerMs <= ticks

type Six = [number, number, number, number, number, number]

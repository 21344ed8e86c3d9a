import type { Branded } from './ids.ts'

/** UTC with milliseconds, `2026-11-21T10:00:00.000Z`. As text, instants sort by time. */
export type Instant = Branded<string, 'Instant'>

/** `beyond-all`: the window is empty, as it starts after, or ends before, every `Instant`. */
export type WindowBound = Instant | 'beyond-all'

export const instantRule = 'an ISO 8601 date-time with separators and an offset or Z, such as 2026-11-21T08:30:00.000Z'

export const windowBoundRule =
  'an ISO 8601 date or date-time with separators, such as 2026-11-21 or 2026-11-21T08:30:00.000Z'

/** Epoch ms. ISO text of other years has a sign, and does not sort by time. */
const earliestMs = Date.parse('0000-01-01T00:00:00.000Z')
const latestMs = Date.parse('9999-12-31T23:59:59.999Z')

export const clampToInstants = (epochMs: number): number => Math.min(Math.max(epochMs, earliestMs), latestMs)

export const toInstant = (epochMs: number): Instant => new Date(epochMs).toISOString() as Instant

/** Fast path. Leaves days 29 to 31 to `readDateTime`, which checks them against the month. */
const instantPattern = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/

/** Truncates to milliseconds. Undefined without an offset or `Z`, for impossible dates and leap seconds, and outside the range of `Instant`. */
export function parseInstant(text: string): Instant | undefined {
  if (instantPattern.test(text)) return text as Instant
  const dateTime = readDateTime(text)
  if (dateTime === undefined || !dateTime.hasOffset) return undefined
  const isInRange = clampToInstants(dateTime.epochMs) === dateTime.epochMs
  return isInRange ? toInstant(dateTime.epochMs) : undefined
}

/**
 * Parses a bound of a time window; undefined if it is no date. A date is the whole day; a time without an offset is UTC. A space before an offset is the `+`
 * that URL decoding has replaced. Digits below milliseconds move the bound inwards: stored times have milliseconds, so the window stays exact.
 */
export function parseWindowBound(text: string, edge: 'from' | 'to'): WindowBound | undefined {
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return parseInstant(`${text}T${edge === 'from' ? '00:00' : '23:59:59.999'}Z`)
  const dateTime = readDateTime(text.replace(/ (?=\d{2}(?::?\d{2})?$)/, '+'))
  if (dateTime === undefined) return undefined
  const boundMs = dateTime.isFiner && edge === 'from' ? dateTime.epochMs + 1 : dateTime.epochMs
  const isBeyondAll = edge === 'from' ? boundMs > latestMs : boundMs < earliestMs
  return isBeyondAll ? 'beyond-all' : toInstant(clampToInstants(boundMs))
}

/** Days that exist: of months with 31 days, with 30, of February, and 29 February of leap years. */
const dayPattern = [
  '[0-9]{4}-(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])',
  '[0-9]{4}-(0[469]|11)-(0[1-9]|[12][0-9]|30)',
  '[0-9]{4}-02-(0[1-9]|1[0-9]|2[0-8])',
  '([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29',
].join('|')
const hourPattern = '([01][0-9]|2[0-3])'
const minutePattern = '[0-5][0-9]'
const timePattern = `${hourPattern}:${minutePattern}(:${minutePattern}([.,][0-9]+)?)?`
const offsetPattern = `[Zz]|[ +-]${hourPattern}(:?${minutePattern})?`

/** Exactly what `parseWindowBound` accepts. */
export const windowBoundPattern = `^(${dayPattern})([Tt]${timePattern}(${offsetPattern})?)?$`

const dateTimePattern = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::(\d\d)(?:[.,](\d+))?)?(Z|([+-])(\d\d)(?::?(\d\d))?)?$/i

/** `isFiner`: the text has digits below milliseconds. */
type DateTime = { readonly epochMs: number; readonly hasOffset: boolean; readonly isFiner: boolean }

/** Without an offset, UTC. Undefined for an impossible date. */
function readDateTime(text: string): DateTime | undefined {
  const [, day, minute, second = '00', fraction = '', offset, sign, hours = '0', minutes = '0'] =
    dateTimePattern.exec(text) ?? []
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined
  const local = `${day}T${minute}:${second}.${fraction.slice(0, 3).padEnd(3, '0')}Z`
  const localMs = Date.parse(local)
  // Date.parse makes 30 February March.
  if (Number.isNaN(localMs) || new Date(localMs).toISOString() !== local) return undefined
  const offsetMs = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
  return { epochMs: localMs - offsetMs, hasOffset: offset !== undefined, isFiner: /[1-9]/.test(fraction.slice(3)) }
}

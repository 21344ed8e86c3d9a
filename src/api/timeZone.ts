import type { Branded } from '../core/model/ids.ts'

/** The name of a time zone, in the spelling of this process's time zone data. */
export type TimeZone = Branded<string, 'TimeZone'>

export const utc = 'UTC' as TimeZone

/** Of the three-letter names that programs know, those that IANA knows: `PST` and `IST` mean several zones. */
const shortNames = /^(?:CET|EET|EST|GMT|HST|MET|MST|PRC|ROC|ROK|UCT|UTC|WET)$/i

/**
 * Reads an IANA time zone name in any letter case; a `+` that a query string turned into a space is read as `+`. Undefined for an
 * offset, and for everything else.
 */
export function parseTimeZone(sent: string): TimeZone | undefined {
  const text = sent.replace(' ', '+')
  const isName = /^[a-z]/i.test(text) && (text.length !== 3 || shortNames.test(text))
  if (!isName) return undefined
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone as TimeZone
  } catch {
    return undefined
  }
}

/** How long a request may be held. */
export const maxWaitSeconds = 60

/**
 * A preference of `Prefer`; a comma in a quoted string separates nothing. A string that nothing ends goes on to the end of the header, so
 * that no part of it is looked at twice.
 */
const preference = /(?:[^,"]|"(?:[^"\\]|\\.?)*(?:"|$))+/g
const waitPreference = /^\s*wait\s*(?:[=;]|$)/i
const waitSeconds = /^\s*wait\s*=\s*(?<quote>"?)(?<seconds>\d{1,9})\k<quote>\s*(?:;|$)/i

/**
 * The seconds that a `Prefer` header (RFC 7240) names as `wait`; undefined when it names none from 1 to 60: a preference that cannot be
 * applied is ignored. Of several, the first one counts.
 */
export function preferredWaitSeconds(prefer: string): number | undefined {
  const first = prefer.match(preference)?.find((each) => waitPreference.test(each))
  const seconds = Number(waitSeconds.exec(first ?? '')?.groups?.['seconds'])
  return seconds >= 1 && seconds <= maxWaitSeconds ? seconds : undefined
}

import { isAscii } from 'node:buffer'
import { isHexDigit } from './scanner.ts'

/*
 * JSON for any program: whole characters alone, as I-JSON (RFC 7493) demands, and none that a reader of lines takes for the end of one, as
 * Node's readline and Python's `splitlines` do. Respondents send both, and a warehouse refuses a whole load for one of them.
 */

const backslash = 0x5c
const u = 0x75
const eight = 0x38
const nine = 0x39
const [a, b, c, d] = [0x61, 0x62, 0x63, 0x64] as const
const hexEscape = Buffer.from(String.raw`\u`)
const escapeLength = String.raw`\u0000`.length
/** Stands for half a surrogate pair. */
const replacement = String.raw`\ufffd`
/** The JSON escape of a UTF-16 unit. */
export const escapeOf = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/** The ends of a line that JSON allows within text: next line, line separator, paragraph separator. */
const lineEnds = ['\u0085', '\u2028', '\u2029'].map((end) => [Buffer.from(end), escapeOf(end)] as const)

/** JSON of a value whose texts are well-formed. */
export const jsonOf = (value: unknown): string => JSON.stringify(value).replace(/[\u0085\u2028\u2029]/g, escapeOf)

/**
 * The same JSON in UTF-8 with U+FFFD for each half of a surrogate pair, in names, too, and with escapes for the ends of lines. `json` itself
 * if it has neither. What is no JSON in UTF-8 is none afterwards.
 */
export function asIJson(json: Buffer): Buffer {
  const whole = json.includes(hexEscape) ? withoutHalves(json) : json
  return isAscii(whole) ? whole : lineEnds.reduce(withEscapes, whole)
}

/** Valid UTF-8 has the bytes of a character nowhere but where it stands, so Latin-1, a character for each byte, has them there, too. */
const withEscapes = (json: Buffer, [end, escaped]: (typeof lineEnds)[number]): Buffer =>
  json.includes(end) ? Buffer.from(json.toString('latin1').replaceAll(end.toString('latin1'), escaped), 'latin1') : json

function withoutHalves(json: Buffer): Buffer {
  let whole = json
  for (let at = json.indexOf(backslash); at < json.length; at++) {
    if (json[at] !== backslash) continue
    const half = halfAt(json, at)
    if (half === undefined) at++
    else if (half === 'high' && halfAt(json, at + escapeLength) === 'low') at += 2 * escapeLength - 1
    else {
      if (whole === json) whole = Buffer.from(json)
      whole.write(replacement, at)
    }
  }
  return whole
}

/** Which half of a surrogate pair the escape at an offset is, from \ud800 to \udfff; undefined for any other text. */
function halfAt(json: Buffer, at: number): 'high' | 'low' | undefined {
  if (json[at] !== backslash || json[at + 1] !== u || lowerCase(json[at + 2]) !== d) return undefined
  if (!isHexDigit(json[at + 3]) || !isHexDigit(json[at + 4]) || !isHexDigit(json[at + 5])) return undefined
  const digit = lowerCase(json[at + 3])
  if (digit === eight || digit === nine || digit === a || digit === b) return 'high'
  return digit >= c ? 'low' : undefined
}

const lowerCase = (code = 0): number => code | 0x20

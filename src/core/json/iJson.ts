import { isAscii } from 'node:buffer'
import { isHexDigit } from './scanner.ts'

/*
 * I-JSON (RFC 7493) forbids half a surrogate pair in a string. Rows of NDJSON must contain no line end of Unicode, where Node's readline and Python's
 * `splitlines` split. Answers of respondents contain both; a single one makes a warehouse refuse a whole load.
 */

const backslash = 0x5c
const u = 0x75
const eight = 0x38
const nine = 0x39
const a = 0x61
const b = 0x62
const c = 0x63
const d = 0x64
const hexEscape = Buffer.from(String.raw`\u`)
const escapeLength = String.raw`\u0000`.length
const replacement = String.raw`\ufffd`

export const escapeOf = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Next line, line separator, paragraph separator, which JSON allows in strings. */
const lineEnds = ['\u0085', '\u2028', '\u2029'].map((end) => [Buffer.from(end), escapeOf(end)] as const)

/** With well-formed strings and escaped line ends. */
export const jsonOf = (value: unknown): string => JSON.stringify(value).replace(/[\u0085\u2028\u2029]/g, escapeOf)

/** Replaces each half of a surrogate pair by U+FFFD, also in names, and escapes line ends. Invalid JSON or UTF-8 stays invalid. */
export function asIJson(json: Buffer): Buffer {
  const wellFormed = json.includes(hexEscape) ? withoutHalves(json) : json
  return isAscii(wellFormed) ? wellFormed : lineEnds.reduce(withEscapes, wellFormed)
}

/** Latin-1 has one character for each byte, so text functions work on bytes. In valid UTF-8 the bytes of a character occur only as that character. */
const withEscapes = (json: Buffer, [end, escaped]: (typeof lineEnds)[number]): Buffer =>
  json.includes(end) ? Buffer.from(json.toString('latin1').replaceAll(end.toString('latin1'), escaped), 'latin1') : json

function withoutHalves(json: Buffer): Buffer {
  let wellFormed = json
  for (let at = json.indexOf(backslash); at < json.length; at++) {
    if (json[at] !== backslash) continue
    const half = halfAt(json, at)
    // Another escape; the second byte of `\\` begins none.
    if (half === undefined) at++
    else if (half === 'high' && halfAt(json, at + escapeLength) === 'low') at += 2 * escapeLength - 1
    else {
      if (wellFormed === json) wellFormed = Buffer.from(json)
      wellFormed.write(replacement, at)
    }
  }
  return wellFormed
}

/** \ud800 to \udfff; undefined for other text. */
function halfAt(json: Buffer, at: number): 'high' | 'low' | undefined {
  if (json[at] !== backslash || json[at + 1] !== u || lowerCase(json[at + 2]) !== d) return undefined
  if (!isHexDigit(json[at + 3]) || !isHexDigit(json[at + 4]) || !isHexDigit(json[at + 5])) return undefined
  const digit = lowerCase(json[at + 3])
  if (digit === eight || digit === nine || digit === a || digit === b) return 'high'
  return digit >= c ? 'low' : undefined
}

const lowerCase = (code = 0): number => code | 0x20

/**
 * Reads members of JSON text without re-serialising them: `JSON.stringify(JSON.parse(text))` reorders integer-like keys and
 * loses digits of large numbers, but records are served as producers wrote them. Every function here expects text that `JSON.parse`
 * has already accepted.
 */

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d

/** A JSON object as its members' raw texts, in their order; of a repeated name the last one counts, as in JSON.parse. */
type RawObject = ReadonlyMap<string, string>

/** The members of the object in `text`; empty for any other JSON value. */
export function rawMembers(text: string): RawObject {
  const members = new Map<string, string>()
  let at = skipSpace(text, 0)
  if (text.charCodeAt(at) !== openBrace) return members
  at = skipSpace(text, at + 1)
  while (at < text.length && text.charCodeAt(at) !== closeBrace) {
    const nameEnd = skipString(text, at)
    const name = readString(text.slice(at, nameEnd))
    const start = skipSpace(text, skipSpace(text, nameEnd) + 1)
    const end = skipValue(text, start)
    members.set(name, text.slice(start, end))
    at = skipSpace(text, end)
    if (text.charCodeAt(at) === comma) at = skipSpace(text, at + 1)
  }
  return members
}

/** The elements of the array in `text`, each as its raw text; empty for any other JSON value. */
export function rawElements(text: string): string[] {
  const elements: string[] = []
  let at = skipSpace(text, 0)
  if (text.charCodeAt(at) !== openBracket) return elements
  at = skipSpace(text, at + 1)
  while (at < text.length && text.charCodeAt(at) !== closeBracket) {
    const end = skipValue(text, at)
    elements.push(text.slice(at, end))
    at = skipSpace(text, end)
    if (text.charCodeAt(at) === comma) at = skipSpace(text, at + 1)
  }
  return elements
}

/** The text of an object with these members; a member without a value becomes `null`. */
export function renderObject(members: Iterable<readonly [name: string, raw: string | undefined]>): string {
  const parts: string[] = []
  for (const [name, raw] of members) parts.push(`${JSON.stringify(name)}:${raw ?? 'null'}`)
  return `{${parts.join(',')}}`
}

/** The same JSON on one line. Valid JSON has line breaks only between tokens, so they can be removed. */
export const onOneLine = (text: string): string => (/[\n\r]/.test(text) ? text.replace(/[\n\r]/g, '') : text)

/** The same JSON on one line and without tabs, which valid JSON also has only between tokens. */
export const withoutTabs = (text: string): string => (/[\n\r\t]/.test(text) ? text.replace(/[\n\r\t]/g, '') : text)

/**
 * The same JSON with every member name once, the last value at the first place, as JSON.parse reads it; digits and the order
 * of names stay. Elasticsearch rejects a document with repeated names. The text may be nested a thousand levels at most.
 */
export const withoutRepeatedNames = (text: string): string => cleanValue(text, skipSpace(text, 0)).raw

/** Whether any object in the text has two members of one name. */
export function hasRepeatedNames(text: string): boolean {
  const open: Set<string>[] = []
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at)
    if (code === quote) {
      const end = skipString(text, at)
      // Only a name is followed by a colon.
      if (text.charCodeAt(skipSpace(text, end)) === colon) {
        const [names, name] = [open.at(-1), readString(text.slice(at, end))]
        if (names?.has(name)) return true
        names?.add(name)
      }
      at = end
      continue
    }
    if (code === openBrace) open.push(new Set())
    else if (code === closeBrace) open.pop()
    at++
  }
  return false
}

type Cleaned = { readonly raw: string; readonly end: number }

function cleanValue(text: string, from: number): Cleaned {
  const first = text.charCodeAt(from)
  if (first === openBrace) return cleanObject(text, from)
  if (first === openBracket) return cleanArray(text, from)
  const end = skipValue(text, from)
  return { raw: text.slice(from, end), end }
}

function cleanObject(text: string, from: number): Cleaned {
  const members = new Map<string, string>()
  let at = skipSpace(text, from + 1)
  while (at < text.length && text.charCodeAt(at) !== closeBrace) {
    const nameEnd = skipString(text, at)
    const { raw, end } = cleanValue(text, skipSpace(text, skipSpace(text, nameEnd) + 1))
    members.set(readString(text.slice(at, nameEnd)), raw)
    at = skipSpace(text, end)
    if (text.charCodeAt(at) === comma) at = skipSpace(text, at + 1)
  }
  // Appended and not joined: V8 copies appended text once, at the end, but joined text once for every level.
  let raw = ''
  for (const [name, value] of members) raw += `${raw === '' ? '' : ','}${JSON.stringify(name)}:${value}`
  return { raw: `{${raw}}`, end: at + 1 }
}

function cleanArray(text: string, from: number): Cleaned {
  let raw = ''
  let at = skipSpace(text, from + 1)
  while (at < text.length && text.charCodeAt(at) !== closeBracket) {
    const element = cleanValue(text, at)
    raw += `${raw === '' ? '' : ','}${element.raw}`
    at = skipSpace(text, element.end)
    if (text.charCodeAt(at) === comma) at = skipSpace(text, at + 1)
  }
  return { raw: `[${raw}]`, end: at + 1 }
}

/** How deep objects and arrays are nested; 0 for a scalar. */
export function nestingDepth(text: string): number {
  let deepest = 0
  let depth = 0
  for (const bracket of withoutStrings(text).replace(/[^[\]{}]/g, '')) {
    depth += bracket === '[' || bracket === '{' ? 1 : -1
    deepest = Math.max(deepest, depth)
  }
  return deepest
}

/** The number of characters of the longest number; 0 when there is none. */
export const longestNumber = (text: string): number =>
  (withoutStrings(text).match(/-?\d[-+.\deE]*/g) ?? []).reduce((longest, { length }) => Math.max(longest, length), 0)

/** The same text with nothing in the place of each string. */
function withoutStrings(text: string): string {
  let rest = ''
  let at = 0
  for (let start = text.indexOf('"'); start !== -1; start = text.indexOf('"', at)) {
    rest += text.slice(at, start)
    at = skipString(text, start)
  }
  return rest + text.slice(at)
}

const readString = (raw: string): string => (raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1))

function skipSpace(text: string, from: number): number {
  let at = from
  while (at < text.length && text.charCodeAt(at) <= 0x20) at++
  return at
}

function skipString(text: string, from: number): number {
  let at = text.indexOf('"', from + 1)
  while (at !== -1 && isEscaped(text, at, from)) at = text.indexOf('"', at + 1)
  return at === -1 ? text.length : at + 1
}

function isEscaped(text: string, at: number, from: number): boolean {
  let backslashes = 0
  while (at - 1 - backslashes > from && text.charCodeAt(at - 1 - backslashes) === backslash) backslashes++
  return backslashes % 2 === 1
}

function skipValue(text: string, from: number): number {
  const first = text.charCodeAt(from)
  if (first === quote) return skipString(text, from)
  if (first === openBrace || first === openBracket) return skipNested(text, from)
  let at = from
  while (at < text.length && !endsScalar(text.charCodeAt(at))) at++
  return at
}

const endsScalar = (code: number): boolean =>
  code <= 0x20 || code === comma || code === closeBrace || code === closeBracket || code === colon

function skipNested(text: string, from: number): number {
  let depth = 0
  let at = from
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === quote) {
      at = skipString(text, at)
      continue
    }
    if (code === openBrace || code === openBracket) depth++
    else if (code === closeBrace || code === closeBracket) depth--
    at++
    if (depth === 0) return at
  }
  return at
}

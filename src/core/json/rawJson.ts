import { jsonOf } from './iJson.ts'

/*
 * Reads members of JSON text without parsing their values: the API serves them as written, but `JSON.stringify(JSON.parse(text))` reorders names like `10` and
 * loses digits. `JSON.parse` must accept the text.
 */

/** Name → raw text, in order; empty for other JSON values. The last of repeated names counts, as in JSON.parse. */
export function rawMembers(text: string): ReadonlyMap<string, string> {
  const members = new Map<string, string>()
  walk(text, skipSpace(text, 0), (at, name) => {
    const end = skipValue(text, at)
    if (name !== undefined) members.set(name, text.slice(at, end))
    return end
  })
  return members
}

/** Empty for other JSON values. */
export function rawElements(text: string): string[] {
  const elements: string[] = []
  walk(text, skipSpace(text, 0), (at, name) => {
    const end = skipValue(text, at)
    if (name === undefined) elements.push(text.slice(at, end))
    return end
  })
  return elements
}

/** `undefined` is written as null. */
export function renderObject(members: Iterable<readonly [name: string, raw: string | undefined]>): string {
  const parts: string[] = []
  for (const [name, raw] of members) parts.push(`${jsonOf(name)}:${raw ?? 'null'}`)
  return `{${parts.join(',')}}`
}

/** In valid JSON, line breaks and tabs only stand between tokens. */
export const withoutTabs = (text: string): string => (/[\n\r\t]/.test(text) ? text.replace(/[\n\r\t]/g, '') : text)

/**
 * Leaves of each repeated name only the last value, at the place of the first, as JSON.parse does: Elasticsearch rejects repeated names. The caller bounds the
 * nesting.
 */
export const withoutRepeatedNames = (text: string): string => cleanValue(text, skipSpace(text, 0)).raw ?? text

/** `raw`: undefined if no name is repeated. */
type Cleaned = { readonly raw: string | undefined; readonly end: number }

function cleanValue(text: string, from: number): Cleaned {
  const first = text[from]
  if (first !== '{' && first !== '[') return { raw: undefined, end: skipValue(text, from) }
  const values = new Map<string | number, string>()
  let isChanged = false
  const end = walk(text, from, (at, name) => {
    const value = cleanValue(text, at)
    const key = name ?? values.size
    isChanged ||= value.raw !== undefined || values.has(key)
    values.set(key, value.raw ?? text.slice(at, value.end))
    return value.end
  })
  if (!isChanged) return { raw: undefined, end }
  // `+=`, not join: V8 copies appended text once, at the end, but joined text once per nesting level.
  let raw = ''
  for (const [name, value] of values)
    raw += `${raw === '' ? '' : ','}${typeof name === 'string' ? `${jsonOf(name)}:` : ''}${value}`
  return { raw: first === '{' ? `{${raw}}` : `[${raw}]`, end }
}

/** Calls `visit` for each value in the object or array at `from`. Both return the offset after what they have read; `walk` returns `from` for other values. */
function walk(text: string, from: number, visit: (at: number, name: string | undefined) => number): number {
  const first = text[from]
  if (first !== '{' && first !== '[') return from
  const close = first === '{' ? '}' : ']'
  let at = skipSpace(text, from + 1)
  while (at < text.length && text[at] !== close) {
    let end: number
    if (first === '[') end = visit(at, undefined)
    else {
      const nameEnd = skipString(text, at)
      const colonAt = skipSpace(text, nameEnd)
      end = visit(skipSpace(text, colonAt + 1), readString(text.slice(at, nameEnd)))
    }
    at = skipSpace(text, end)
    if (text[at] === ',') at = skipSpace(text, at + 1)
  }
  return at + 1
}

const readString = (raw: string): string => (raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1))

/* These functions return the offset after what they skip. */

function skipSpace(text: string, from: number): number {
  let at = from
  while (at < text.length && text.charCodeAt(at) <= 0x20) at++
  return at
}

function skipString(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    // After an odd number of backslashes, the quote is an escaped one.
    let backslashes = 0
    while (text[at - 1 - backslashes] === '\\') backslashes++
    if (backslashes % 2 === 0) return at + 1
  }
  return text.length
}

function skipValue(text: string, from: number): number {
  const first = text[from]
  if (first === '"') return skipString(text, from)
  if (first === '{' || first === '[') return skipNested(text, from)
  let at = from
  while (at < text.length && !afterScalar.test(text[at] ?? '')) at++
  return at
}

const afterScalar = /[\s,}\]:]/

/** Iterative: a skipped value may be nested to any depth. */
function skipNested(text: string, from: number): number {
  for (let at = from, depth = 0; at < text.length; ) {
    const next = text[at]
    if (next === '{' || next === '[') depth++
    else if (next === '}' || next === ']') depth--
    at = next === '"' ? skipString(text, at) : at + 1
    if (depth === 0) return at
  }
  return text.length
}

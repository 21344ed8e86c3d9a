import { backslash, closeBrace, closeBracket, colon, comma, openBrace, openBracket, quote } from './rawJson.ts'
import type { Kind, Member, Shape } from './shape.ts'

const plus = 0x2b
const minus = 0x2d
const dot = 0x2e
const zero = 0x30
const nine = 0x39
const upperE = 0x45
const lowerE = 0x65
const space = 0x20

/** Elasticsearch rejects documents with deeper nesting or longer numbers. */
export const maxDepth = 1_000
export const maxNumberCharacters = 1_000
/** Longer integers may be infinite as a double. */
const maxFiniteCharacters = 300
const none = -1

/**
 * Finds the values of known members in one pass over simple JSON: members of the expected types, every known name once and without
 * escapes, no white space but spaces, no deeper nesting and no longer numbers than Elasticsearch accepts. Other JSON may be valid,
 * too: `RecordRenderer` normalises it. In valid UTF-8, whatever `read` accepts, `JSON.parse` accepts.
 */
export class Scanner {
  readonly #shape: Shape
  readonly #starts: Int32Array
  readonly #ends: Int32Array
  #bytes: Buffer = Buffer.alloc(0)
  /** The member that was read last, or the shape at the start of an object; undefined after a member that is not looked for. */
  #last: Shape | Member | undefined
  #rejected: string[] = []

  constructor(shape: Shape) {
    this.#shape = shape
    const members = membersOf(shape)
    this.#starts = new Int32Array(members.length)
    this.#ends = new Int32Array(members.length)
  }

  /** Whether `bytes` are one simple object of the shape. Any member may be missing. */
  read(bytes: Buffer): boolean {
    this.#bytes = bytes
    this.#rejected = []
    this.#starts.fill(none)
    const start = this.#skipSpaces(0)
    if (bytes[start] !== openBrace) return false
    const end = this.#readObject(start, this.#shape, 1)
    return end !== none && this.#skipSpaces(end) === bytes.length
  }

  /** The names that lead to the member whose value `read` has rejected. */
  get rejectedPath(): readonly string[] {
    return this.#rejected
  }

  /** What was read last. */
  get bytes(): Buffer {
    return this.#bytes
  }

  /** Whether the member is present and not null. */
  has(slot: number): boolean {
    const start = this.startOf(slot)
    return start !== none && this.#bytes[start] !== 0x6e
  }

  /** The offset at which a member's value begins; -1 when the member is missing. */
  startOf(slot: number): number {
    return this.#starts[slot] ?? none
  }

  /** The offset after a member's value, if the member is present. */
  endOf(slot: number): number {
    return this.#ends[slot] ?? none
  }

  /** The value of a number; NaN when the member is missing. */
  numberOf(slot: number): number {
    return this.has(slot) ? Number(this.#bytes.toString('latin1', this.startOf(slot), this.endOf(slot))) : Number.NaN
  }

  /** A string in ASCII, without its quotes; empty when it is missing. Escapes stay, and other characters become several of Latin-1. */
  asciiOf(slot: number): string {
    return this.has(slot) ? this.#bytes.toString('latin1', this.startOf(slot) + 1, this.endOf(slot) - 1) : ''
  }

  /** Reads an object from its brace on; returns the offset after it, or -1 when it is not simple JSON. */
  #readObject(from: number, shape: Shape | undefined, depth: number): number {
    const bytes = this.#bytes
    if (depth > maxDepth) return none
    let at = this.#skipSpaces(from + 1)
    if (bytes[at] === closeBrace) return at + 1
    this.#last = shape
    for (;;) {
      const nameEnd = bytes[at] === quote ? this.#skipString(at) : none
      const valueAt = this.#skipColon(nameEnd)
      if (valueAt === none) return none
      at = shape === undefined ? this.#skipValue(valueAt, depth) : this.#readNamed(at, nameEnd, valueAt, shape, depth)
      if (at === none) return none
      at = this.#skipSpaces(at)
      if (bytes[at] === closeBrace) return at + 1
      if (bytes[at] !== comma) return none
      at = this.#skipSpaces(at + 1)
    }
  }

  #readNamed(nameAt: number, nameEnd: number, valueAt: number, shape: Shape, depth: number): number {
    const last = this.#last
    const expected = last?.next
    const isExpected = expected !== undefined && this.#isText(nameAt + 1, nameEnd - 1, expected.name)
    const member = isExpected ? expected : shape.members.get(this.#bytes.toString('latin1', nameAt + 1, nameEnd - 1))
    if (member === undefined && this.#bytes.subarray(nameAt, nameEnd).includes(backslash)) return none
    const end = member === undefined ? this.#skipValue(valueAt, depth) : this.#readMember(valueAt, member, depth)
    if (!isExpected && last !== undefined) last.next = member
    this.#last = member
    return end
  }

  #isText(from: number, end: number, text: Uint8Array): boolean {
    const bytes = this.#bytes
    const { length } = text
    if (end - from !== length) return false
    for (let at = 0; at < length; at++) if (bytes[from + at] !== text[at]) return false
    return true
  }

  #readMember(from: number, member: Member, depth: number): number {
    const { slot, shape } = member
    if (this.#starts[slot] !== none) return none
    const found = kindAt(this.#bytes[from])
    if (found === undefined) return none
    const isShaped = shape !== undefined && found === 'object'
    const end = isShaped ? this.#readObject(from, shape, depth + 1) : this.#skipValue(from, depth)
    if (end === none || (found !== 'null' && !this.#isOf(member, found, from, end))) {
      this.#rejected.unshift(member.name.toString())
      return none
    }
    this.#starts[slot] = from
    this.#ends[slot] = end
    return end
  }

  /** Whether a value other than null has the member's type. */
  #isOf({ kind }: Member, found: Kind, from: number, end: number): boolean {
    if (kind !== 'integer') return kind === 'any' || kind === found
    if (this.#skipInteger(from) !== end) return false
    return end - from <= maxFiniteCharacters || Number.isFinite(Number(this.#bytes.toString('latin1', from, end)))
  }

  #skipValue(from: number, depth: number): number {
    switch (kindAt(this.#bytes[from])) {
      case 'string':
        return this.#skipString(from)
      case 'number':
        return this.#skipNumber(from)
      case 'object':
        return this.#readObject(from, undefined, depth + 1)
      case 'array':
        return this.#skipArray(from, depth + 1)
      case 'null':
        return this.#skipWord(from, words.null)
      case 'boolean':
        return this.#skipWord(from, this.#bytes[from] === 0x74 ? words.true : words.false)
      case undefined:
        return none
    }
  }

  #skipArray(from: number, depth: number): number {
    const bytes = this.#bytes
    if (depth > maxDepth) return none
    let at = this.#skipSpaces(from + 1)
    if (bytes[at] === closeBracket) return at + 1
    for (;;) {
      at = this.#skipValue(at, depth)
      if (at === none) return none
      at = this.#skipSpaces(at)
      if (bytes[at] === closeBracket) return at + 1
      if (bytes[at] !== comma) return none
      at = this.#skipSpaces(at + 1)
    }
  }

  /** From the end of a name to its value. */
  #skipColon(nameEnd: number): number {
    const at = nameEnd === none ? none : this.#skipSpaces(nameEnd)
    return at !== none && this.#bytes[at] === colon ? this.#skipSpaces(at + 1) : none
  }

  #skipSpaces(from: number): number {
    const bytes = this.#bytes
    let at = from
    while (bytes[at] === space) at++
    return at
  }

  #skipString(from: number): number {
    const bytes = this.#bytes
    const end = bytes.length
    let at = from + 1
    while (at < end) {
      const code = bytes[at] as number
      if (code === quote) return at + 1
      if (code < space) return none
      if (code === backslash) {
        const length = escapeLength(bytes, at + 1)
        if (length === 0) return none
        at += length
      }
      at++
    }
    return none
  }

  #skipNumber(from: number): number {
    const bytes = this.#bytes
    const first = bytes[from] === minus ? from + 1 : from
    let at = this.#skipInteger(from)
    if (at === first || (bytes[first] === zero && at > first + 1)) return none
    if (bytes[at] === dot) {
      const digits = at + 1
      at = this.#skipDigits(digits)
      if (at === digits) return none
    }
    if (bytes[at] === lowerE || bytes[at] === upperE) {
      const digits = bytes[at + 1] === plus || bytes[at + 1] === minus ? at + 2 : at + 1
      at = this.#skipDigits(digits)
      if (at === digits) return none
    }
    return at - from > maxNumberCharacters ? none : at
  }

  #skipInteger(from: number): number {
    return this.#skipDigits(this.#bytes[from] === minus ? from + 1 : from)
  }

  #skipDigits(from: number): number {
    const bytes = this.#bytes
    let at = from
    while (isDigit(bytes[at])) at++
    return at
  }

  #skipWord(from: number, word: Uint8Array): number {
    return this.#isText(from, from + word.length, word) ? from + word.length : none
  }
}

const words = { null: Buffer.from('null'), true: Buffer.from('true'), false: Buffer.from('false') }

const isDigit = (code: number | undefined): boolean => code !== undefined && code >= zero && code <= nine

/** The type of a value by its first character; undefined when no value begins with it. */
function kindAt(code: number | undefined): Exclude<Kind, 'integer' | 'any'> | 'null' | undefined {
  if (code === quote) return 'string'
  if (code === openBrace) return 'object'
  if (code === openBracket) return 'array'
  if (code === 0x6e) return 'null'
  if (code === 0x74 || code === 0x66) return 'boolean'
  return code === minus || isDigit(code) ? 'number' : undefined
}

/** How many characters an escape has after its backslash; 0 when it is invalid. */
function escapeLength(bytes: Uint8Array, at: number): number {
  const code = bytes[at]
  if (code === 0x75) return [1, 2, 3, 4].every((each) => isHexDigit(bytes[at + each])) ? 5 : 0
  return code !== undefined && escapes.has(code) ? 1 : 0
}

const escapes = new Set(Buffer.from('"\\/bfnrt'))

const isHexDigit = (code: number | undefined): boolean =>
  isDigit(code) || (code !== undefined && (code | 0x20) >= 0x61 && (code | 0x20) <= 0x66)

function membersOf(shape: Shape): Member[] {
  return [...shape.members.values()].flatMap((member) => [
    member,
    ...(member.shape === undefined ? [] : membersOf(member.shape)),
  ])
}

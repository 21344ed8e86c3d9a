// With imported constants, scanning would take 50 % longer.
const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d
const plus = 0x2b
const minus = 0x2d
const dot = 0x2e
const zero = 0x30
const nine = 0x39
const upperE = 0x45
const lowerE = 0x65
const space = 0x20
const n = 0x6e
const t = 0x74
const f = 0x66

/** Elasticsearch rejects documents beyond these. */
export const maxDepth = 1_000
export const maxNumberCharacters = 1_000
/** A longer integer may be beyond ±(2^53 − 1). */
const maxSafeCharacters = 15
/** An offset where there is no value, or no simple JSON. */
export const none = -1

/** Names, or pairs of the name of an object and its served members. */
export type Served = readonly ServedMember[]
type ServedMember = string | readonly [name: string, members: Served]

/** Without `members`, the whole value is served. */
export const servedPair = (member: ServedMember): readonly [name: string, members?: Served] =>
  typeof member === 'string' ? [member] : member

/** An `integer` has no fraction and no exponent, and is within ±(2^53 − 1). */
export const kinds = ['string', 'integer', 'number', 'boolean', 'object', 'array'] as const
export type Kind = (typeof kinds)[number] | 'any'

/** The known members of an object; the scanner skips others. */
export type Shape = {
  readonly members: Map<string, Member>
  /** Most records of a topic have one order of members. */
  next: Member | undefined
}

export type Member = {
  readonly name: Buffer
  readonly ordinal: number
  readonly kind: Kind
  readonly shape: Shape | undefined
  /** The one after this member in the last scanned object. */
  next: Member | undefined
}

/**
 * Finds the values of known members in one pass over simple JSON: known members have the expected types; known names appear once and without escapes; white
 * space is spaces only; nesting and numbers are within the limits of Elasticsearch. Bytes that `read` accepts are JSON if they are valid UTF-8.
 * `#read…` and `#skip…` return the offset after what they read; -1 if it is not simple JSON.
 */
export class Scanner {
  readonly #shape: Shape
  readonly #starts: Int32Array
  readonly #ends: Int32Array
  bytes: Buffer = Buffer.alloc(0)
  /** Read last; at the start of an object, its shape. Its `next` is expected next. Undefined after an unknown member. */
  #last: Shape | Member | undefined
  /** The path of a known member whose value was rejected. */
  rejectedPath: string[] = []

  constructor(shape: Shape, memberCount: number) {
    this.#shape = shape
    this.#starts = new Int32Array(memberCount)
    this.#ends = new Int32Array(memberCount)
  }

  /** Whether `bytes` are one simple object of the shape; any member may be missing. */
  read(bytes: Buffer): boolean {
    this.bytes = bytes
    this.#starts.fill(none)
    this.rejectedPath = []
    const start = this.#skipSpaces(0)
    const end = bytes[start] === openBrace ? this.#readNested(start, this.#shape, 1) : none
    return end !== none && this.#skipSpaces(end) === bytes.length
  }

  /** Present and not null. */
  has(ordinal: number): boolean {
    const start = this.startOf(ordinal)
    return start !== none && this.bytes[start] !== n
  }

  /** -1 if the member is missing. */
  startOf(ordinal: number): number {
    return this.#starts[ordinal] ?? none
  }

  /** The member must be present. */
  endOf(ordinal: number): number {
    return this.#ends[ordinal] ?? none
  }

  /** The value's JSON, decoded as Latin-1; empty if missing or null. */
  textOf(ordinal: number): string {
    return this.has(ordinal) ? this.bytes.toString('latin1', this.startOf(ordinal), this.endOf(ordinal)) : ''
  }

  #readNested(from: number, shape: Shape | undefined, depth: number): number {
    const bytes = this.bytes
    if (depth > maxDepth) return none
    const isObject = bytes[from] === openBrace
    const close = isObject ? closeBrace : closeBracket
    let at = this.#skipSpaces(from + 1)
    if (bytes[at] === close) return at + 1
    this.#last = shape
    for (;;) {
      at = isObject ? this.#readMember(at, shape, depth) : this.#skipValue(at, depth)
      if (at === none) return none
      at = this.#skipSpaces(at)
      if (bytes[at] === close) return at + 1
      if (bytes[at] !== comma) return none
      at = this.#skipSpaces(at + 1)
    }
  }

  #readMember(nameAt: number, shape: Shape | undefined, depth: number): number {
    const bytes = this.bytes
    const nameEnd = bytes[nameAt] === quote ? this.#skipString(nameAt) : none
    const colonAt = nameEnd === none ? none : this.#skipSpaces(nameEnd)
    if (colonAt === none || bytes[colonAt] !== colon) return none
    const valueAt = this.#skipSpaces(colonAt + 1)
    if (shape === undefined) return this.#skipValue(valueAt, depth)
    const last = this.#last
    const expected = last?.next
    const isExpected = expected !== undefined && this.#isText(nameAt + 1, nameEnd - 1, expected.name)
    const member = isExpected ? expected : shape.members.get(bytes.toString('latin1', nameAt + 1, nameEnd - 1))
    // An escaped name may be a known one.
    if (member === undefined && bytes.subarray(nameAt, nameEnd).includes(backslash)) return none
    const end = member === undefined ? this.#skipValue(valueAt, depth) : this.#readKnownValue(valueAt, member, depth)
    if (!isExpected && last !== undefined) last.next = member
    this.#last = member
    return end
  }

  #readKnownValue(from: number, member: Member, depth: number): number {
    const { ordinal, shape } = member
    const isRepeated = this.#starts[ordinal] !== none
    if (isRepeated) return none
    const kind = kindBeginningWith(this.bytes[from])
    if (kind === undefined) return none
    const isShaped = shape !== undefined && kind === 'object'
    const end = isShaped ? this.#readNested(from, shape, depth + 1) : this.#skipValue(from, depth)
    if (end === none || (kind !== 'null' && !this.#hasKind(member, kind, from, end))) {
      this.rejectedPath.unshift(member.name.toString())
      return none
    }
    this.#starts[ordinal] = from
    this.#ends[ordinal] = end
    return end
  }

  #isText(from: number, end: number, text: Uint8Array): boolean {
    const bytes = this.bytes
    const { length } = text
    if (end - from !== length) return false
    for (let at = 0; at < length; at++) if (bytes[from + at] !== text[at]) return false
    return true
  }

  #hasKind({ kind: expected }: Member, kind: Kind, from: number, end: number): boolean {
    if (expected !== 'integer') return expected === 'any' || expected === kind
    if (this.#skipDigits(this.bytes[from] === minus ? from + 1 : from) !== end) return false
    return end - from <= maxSafeCharacters || Number.isSafeInteger(Number(this.bytes.toString('latin1', from, end)))
  }

  #skipValue(from: number, depth: number): number {
    const code = this.bytes[from]
    if (code === quote) return this.#skipString(from)
    if (code === openBrace || code === openBracket) return this.#readNested(from, undefined, depth + 1)
    if (code === n) return this.#skipWord(from, words.null)
    if (code === t) return this.#skipWord(from, words.true)
    return code === f ? this.#skipWord(from, words.false) : this.#skipNumber(from)
  }

  #skipSpaces(from: number): number {
    const bytes = this.bytes
    let at = from
    while (bytes[at] === space) at++
    return at
  }

  #skipString(from: number): number {
    const bytes = this.bytes
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
    const bytes = this.bytes
    const first = bytes[from] === minus ? from + 1 : from
    let at = this.#skipDigits(first)
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

  #skipDigits(from: number): number {
    const bytes = this.bytes
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

function kindBeginningWith(code: number | undefined): Exclude<Kind, 'integer' | 'any'> | 'null' | undefined {
  if (code === quote) return 'string'
  if (code === openBrace) return 'object'
  if (code === openBracket) return 'array'
  if (code === n) return 'null'
  if (code === t || code === f) return 'boolean'
  return code === minus || isDigit(code) ? 'number' : undefined
}

const u = 0x75
const escapes = new Set(Buffer.from('"\\/bfnrt'))

/** In bytes, from `at` after the backslash; 0 if invalid. */
function escapeLength(bytes: Uint8Array, at: number): number {
  const code = bytes[at]
  if (code === u) return [1, 2, 3, 4].every((digit) => isHexDigit(bytes[at + digit])) ? 5 : 0
  return code !== undefined && escapes.has(code) ? 1 : 0
}

/** `code | 0x20` is the lower-case letter; 0x61 to 0x66 are `a` to `f`. */
export const isHexDigit = (code: number | undefined): boolean =>
  isDigit(code) || (code !== undefined && (code | 0x20) >= 0x61 && (code | 0x20) <= 0x66)

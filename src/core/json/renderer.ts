import { z } from 'zod'
import { onOneLine, rawMembers, renderObject } from './rawJson.ts'
import { Scanner } from './scanner.ts'
import { type Member, memberAt, type Served, type Shape, shapeOf } from './shape.ts'

/** What is served of an entity, in a list and alone: JSON on one line, in UTF-8. */
export type Rendered = { readonly summary: Buffer; readonly detail: Buffer }

/**
 * Renders entities of one kind from the values of their records, `{"revision": …, "<member>": {…}}`, by copying bytes: a scan finds
 * where each served member stands. The scan that was accepted last is the one that is read and rendered.
 */
export class RecordRenderer {
  readonly #shape: Shape
  readonly #member: string
  readonly #scanner: Scanner
  readonly #copier: Copier
  readonly #summary: readonly Step[]
  readonly #detail: readonly Step[]

  constructor(member: string, schema: z.ZodObject, served: { readonly summary: Served; readonly detail: Served }) {
    const envelope = z.object({ revision: z.number(), [member]: schema })
    this.#member = member
    this.#shape = shapeOf(envelope, [[[member, served.summary]], [[member, served.detail]]])
    this.#scanner = new Scanner(this.#shape)
    this.#copier = new Copier(this.#scanner)
    const { shape } = memberAt(this.#shape, member)
    this.#summary = stepsOf(served.summary, shape)
    this.#detail = stepsOf(served.detail, shape)
  }

  /** Scans a value in UTF-8 as it came; undefined when it has to be parsed, validated and normalised. */
  scan(value: Buffer): Pick<Scanner, 'has' | 'numberOf' | 'asciiOf'> | undefined {
    return this.#scanner.read(value) ? this.#scanner : undefined
  }

  /** Scans a value that the schema accepts. Returns the path of the first member that Elasticsearch would reject, if any. */
  scanNormalised(text: string): readonly string[] | undefined {
    const isAccepted = this.#scanner.read(Buffer.from(normalise(onOneLine(text), this.#shape)))
    return isAccepted ? undefined : this.#scanner.rejectedPath
  }

  /** The number under which a scan has the member at a path of names. */
  slotOf(...path: readonly string[]): number {
    return memberAt(this.#shape, ...path).slot
  }

  /** Renders what is served; strings in `replaced`, by the entity's member, are served instead of those in the record. */
  render(replaced: undefined | Readonly<Record<string, string>>): Rendered {
    const bySlot = replaced && this.#bySlot(replaced)
    return { summary: this.#copier.copy(this.#summary, bySlot), detail: this.#copier.copy(this.#detail, bySlot) }
  }

  #bySlot(replaced: Readonly<Record<string, string>>): Replaced {
    const values = Object.entries(replaced)
    return new Map(values.map(([name, text]) => [this.slotOf(this.#member, name), Buffer.from(JSON.stringify(text))]))
  }
}

/** JSON text by slot. */
type Replaced = ReadonlyMap<number, Buffer>

/**
 * The members of the shape in JSON that the shape's schema accepts, as the scanner reads them: each name once, with its last value,
 * without escapes. Integers lose fraction and exponent, which clients with integer types would reject. All else stays as it is
 * written.
 */
function normalise(text: string, shape: Shape): string {
  const raw = rawMembers(text)
  const members = [...shape.members].map(([name, member]) => [name, member, raw.get(name)] as const)
  return renderObject(
    members.flatMap(([name, member, value]) => (value === undefined ? [] : [[name, normaliseValue(value, member)]])),
  )
}

function normaliseValue(raw: string, { kind, shape }: Member): string {
  if (shape !== undefined && raw !== 'null') return normalise(raw, shape)
  return kind === 'integer' && /[.eE]/.test(raw) ? BigInt(Number(raw)).toString() : raw
}

/** How a served member is written: the text before its value, and the slot of its value or the steps of its own members. */
type Step = { readonly before: Buffer; readonly slot: number; readonly members: readonly Step[] | undefined }

/** The steps that write the served members of a shape. */
const stepsOf = (served: Served, shape: Shape | undefined): Step[] =>
  served.map((each, at) => {
    const [name, members] = typeof each === 'string' ? [each] : each
    const member = memberAt(shape, name)
    return {
      before: Buffer.from(`${at === 0 ? '{' : ','}${JSON.stringify(name)}:`),
      slot: member.slot,
      members: members === undefined ? undefined : stepsOf(members, member.shape),
    }
  })

const nothing = Buffer.from('null')
const closing = Buffer.from('}')
const none = -1

/**
 * Copies served members from what a scanner has read; missing members and objects are null. Members that follow one another in the
 * record as they are served are copied at once: when the next value begins exactly as many bytes after the last one as its name
 * takes, nothing but the name can be between them.
 */
class Copier {
  readonly #scanner: Scanner
  #to = Buffer.allocUnsafe(64 * 1024)
  #at = 0
  /** The range of the scanner's bytes that is not copied yet; its end is -1 when there is none to extend. */
  #start = 0
  #end = none

  constructor(scanner: Scanner) {
    this.#scanner = scanner
  }

  copy(steps: readonly Step[], replaced: Replaced | undefined): Buffer {
    this.#at = 0
    this.#end = none
    this.#members(steps, replaced)
    this.#put(closing)
    const text = Buffer.allocUnsafe(this.#at)
    this.#to.copy(text, 0, 0, this.#at)
    return text
  }

  #members(steps: readonly Step[], replaced: Replaced | undefined): void {
    const scanner = this.#scanner
    for (const { before, slot, members } of steps) {
      const start = scanner.startOf(slot)
      const other = start === none ? nothing : replaced?.get(slot)
      if (other !== undefined) {
        this.#put(before)
        this.#put(other)
        continue
      }
      if (this.#end === none || this.#end + before.length !== start) {
        this.#put(before)
        this.#start = start
      }
      const end = scanner.endOf(slot)
      if (members === undefined || !scanner.has(slot)) {
        this.#end = end
        continue
      }
      this.#end = start
      this.#members(members, replaced)
      if (this.#end !== none && this.#end + closing.length === end) this.#end = end
      else this.#put(closing)
    }
  }

  #put(text: Buffer): void {
    if (this.#end !== none) this.#append(this.#scanner.bytes, this.#start, this.#end)
    this.#end = none
    this.#append(text, 0, text.length)
  }

  #append(source: Buffer, start: number, end: number): void {
    const length = end - start
    if (this.#at + length > this.#to.length) {
      const larger = Buffer.allocUnsafe(2 * (this.#at + length))
      this.#to.copy(larger, 0, 0, this.#at)
      this.#to = larger
    }
    source.copy(this.#to, this.#at, start, end)
    this.#at += length
  }
}

import { hash } from 'node:crypto'
import { z } from 'zod'
import { rawMembers, renderObject, withoutTabs } from './rawJson.ts'
import { type Kind, kinds, type Member, none, Scanner, type Served, type Shape, servedPair } from './scanner.ts'

/** One-line JSON in UTF-8: `summary` for lists, `detail` for a request by id. `digest` of both reveals other content with the same revision. */
export type Rendered = { readonly summary: Buffer; readonly detail: Buffer; readonly digest: string }

const digestCharacters = 16

/**
 * Renders the record value that `scanner` read last, `{"revision": …, "<member>": {…}}`, by copying the bytes of its served members. Missing members
 * become null.
 *
 * Members that follow each other in the record as in the answer are copied in one piece. Example: the answer is to contain `"id":"a","title":"b"`. In the
 * record, the value of `title` starts 9 bytes after the end of the value of `id`. The name alone, `,"title":`, takes 9 bytes, so all of `"a","title":"b"`
 * can be copied.
 */
export class RecordRenderer {
  readonly scanner: Scanner
  readonly #shape: Shape
  readonly #member: string
  readonly #summary: readonly Step[]
  readonly #detail: readonly Step[]
  #to = Buffer.allocUnsafe(64 * 1024)
  #at = 0
  /** The scanned bytes to copy next; `#end` is -1 if nothing is to be copied. */
  #start = 0
  #end = none

  constructor(member: string, schema: z.ZodObject, served: { readonly summary: Served; readonly detail: Served }) {
    let slots = 0
    const memberOf: MakeMember = (name, kind, shape) => {
      return { name: Buffer.from(name), slot: slots++, kind, shape, next: undefined }
    }
    const entity = shapeOf(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema, memberOf)
    this.#summary = stepsOf(served.summary, entity, memberOf)
    this.#detail = stepsOf(served.detail, entity, memberOf)
    const envelope = { revision: memberOf('revision', 'number'), [member]: memberOf(member, 'object', entity) }
    this.#shape = { members: new Map(Object.entries(envelope)), next: undefined }
    this.#member = member
    this.scanner = new Scanner(this.#shape, slots)
  }

  /** Normalises and scans a value that the schema accepts. Returns the path of a member that Elasticsearch would reject. */
  scanNormalised(text: string): readonly string[] | undefined {
    const isAccepted = this.scanner.read(Buffer.from(normalise(withoutTabs(text), this.#shape)))
    return isAccepted ? undefined : this.scanner.rejectedPath
  }

  /** Throws if the shape has no member at this path. */
  slotOf(...path: readonly string[]): number {
    let shape: Shape | undefined = this.#shape
    let slot: number | undefined
    for (const name of path) {
      const member: Member | undefined = shape?.members.get(name)
      slot = member?.slot
      shape = member?.shape
    }
    if (slot === undefined) throw new Error(`there is no member ${path.join('.')}`)
    return slot
  }

  /** `replaced`: member of the entity → string to serve instead of the record's value. */
  render(replaced?: Readonly<Record<string, string>>): Rendered {
    const jsonOf = ([name, text]: [string, string]) =>
      [this.slotOf(this.#member, name), Buffer.from(JSON.stringify(text))] as const
    const bySlot = replaced && new Map(Object.entries(replaced).map(jsonOf))
    this.#at = 0
    const summary = this.#copy(this.#summary, bySlot)
    const detail = this.#copy(this.#detail, bySlot)
    const digest = hash('sha1', this.#to.subarray(0, this.#at), 'base64url').slice(0, digestCharacters)
    return { summary, detail, digest }
  }

  #copy(steps: readonly Step[], replaced: ReadonlyMap<number, Buffer> | undefined): Buffer {
    const from = this.#at
    this.#end = none
    this.#copyMembers(steps, replaced)
    this.#put(closing)
    const text = Buffer.allocUnsafe(this.#at - from)
    this.#to.copy(text, 0, from, this.#at)
    return text
  }

  #copyMembers(steps: readonly Step[], replaced: ReadonlyMap<number, Buffer> | undefined): void {
    const { scanner } = this
    for (const { before, slot, members } of steps) {
      const start = scanner.startOf(slot)
      const replacement = start === none ? nothing : replaced?.get(slot)
      if (replacement !== undefined) {
        this.#put(before)
        this.#put(replacement)
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
      this.#copyMembers(members, replaced)
      if (this.#end !== none && this.#end + closing.length === end) this.#end = end
      else this.#put(closing)
    }
  }

  #put(text: Buffer): void {
    if (this.#end !== none) this.#append(this.scanner.bytes, this.#start, this.#end)
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

const nothing = Buffer.from('null')
const closing = Buffer.from('}')

/** Writes `before` (comma or brace, name, colon), then the value in `slot`; with `members`, only these members of the value. */
type Step = { readonly before: Buffer; readonly slot: number; readonly members: readonly Step[] | undefined }
type MakeMember = (name: string, kind: Kind, shape?: Shape) => Member
type JsonSchema = {
  readonly type?: string | readonly string[]
  readonly anyOf?: readonly JsonSchema[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
}

function shapeOf({ properties = {} }: JsonSchema, memberOf: MakeMember): Shape {
  const members = new Map<string, Member>()
  for (const [name, own] of Object.entries(properties)) {
    const type = own.anyOf?.find((alternative) => alternative.type !== 'null') ?? own
    const named = [type.type ?? []].flat().filter((name) => name !== 'null')
    const kind = kinds.find((known) => named.length === 1 && named[0] === known) ?? 'any'
    members.set(name, memberOf(name, kind, type.properties && shapeOf(type, memberOf)))
  }
  return { members, next: undefined }
}

/** Adds served members that the schema lacks to the shape. */
const stepsOf = (served: Served, { members }: Shape, memberOf: MakeMember): Step[] =>
  served.map((servedMember, at) => {
    const [name, inner] = servedPair(servedMember)
    const member = members.get(name) ?? memberOf(name, 'any')
    members.set(name, member)
    return {
      before: Buffer.from(`${at === 0 ? '{' : ','}${JSON.stringify(name)}:`),
      slot: member.slot,
      members: inner && member.shape && stepsOf(inner, member.shape, memberOf),
    }
  })

/**
 * Rewrites valid JSON so that the scanner can read the members of the shape: each name once, with its last value, without escapes. Integers lose fraction
 * and exponent, which clients with integer types reject: `1e3` becomes `1000`. All else stays as written.
 */
function normalise(text: string, { members }: Shape): string {
  const raw = rawMembers(text)
  const normalised: [name: string, raw: string][] = []
  for (const [name, { kind, shape }] of members) {
    const value = raw.get(name)
    if (value === undefined) continue
    if (shape !== undefined && value !== 'null') normalised.push([name, normalise(value, shape)])
    else normalised.push([name, kind === 'integer' && /[.eE]/.test(value) ? BigInt(Number(value)).toString() : value])
  }
  return renderObject(normalised)
}

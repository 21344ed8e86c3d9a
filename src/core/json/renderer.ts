import { hash } from 'node:crypto'
import { z } from 'zod'
import { rawMembers, renderObject, withoutTabs } from './rawJson.ts'
import { type Kind, kinds, type Member, none, Scanner, type Served, type Shape, servedPair } from './scanner.ts'

/** `summary` for lists, `detail` for a request by id. `digest`, of both, shows whether two records of one revision are the same. */
export type Rendered = { readonly summary: Buffer; readonly detail: Buffer; readonly digest: string }

const digestCharacters = 16

/** `before`: what precedes the value, such as `{"id":` or `,"title":`. `members`: only these of the value are copied. */
type Step = { readonly before: Buffer; readonly ordinal: number; readonly members: readonly Step[] | undefined }

const nullText = Buffer.from('null')
const closing = Buffer.from('}')

/**
 * Renders the record value that `scanner` read last, by copying the bytes of its served members. Missing members become null.
 * Members that follow each other in the record as in the answer are copied in one piece. If the value of `title` starts 9 bytes after the end of that of `id`,
 * only `,"title":` can be between them, and `"a","title":"b"` is copied as a whole.
 */
export class RecordRenderer {
  readonly scanner: Scanner
  readonly #shape: Shape
  readonly #entityMember: string
  readonly #summarySteps: readonly Step[]
  readonly #detailSteps: readonly Step[]
  /** Grows if necessary. Only the first `#outputLength` bytes count. */
  #output = Buffer.allocUnsafe(64 * 1024)
  #outputLength = 0
  /** The piece of scanned bytes to copy next, which the next member may extend. Without a piece, `#pendingEnd` is -1. */
  #pendingStart = 0
  #pendingEnd = none

  constructor(member: string, schema: z.ZodObject, served: { readonly summary: Served; readonly detail: Served }) {
    let memberCount = 0
    const makeMember: MakeMember = (name, kind, shape) => {
      return { name: Buffer.from(name), ordinal: memberCount++, kind, shape, next: undefined }
    }
    const entity = shapeOf(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema, makeMember)
    this.#summarySteps = stepsOf(served.summary, entity, makeMember)
    this.#detailSteps = stepsOf(served.detail, entity, makeMember)
    const envelope = { revision: makeMember('revision', 'number'), [member]: makeMember(member, 'object', entity) }
    this.#shape = { members: new Map(Object.entries(envelope)), next: undefined }
    this.#entityMember = member
    this.scanner = new Scanner(this.#shape, memberCount)
  }

  /**
   * Rewrites a value as simple JSON, and scans it. Returns undefined, or the path of a member that Elasticsearch would reject: it is nested too deep, or has
   * too long a number.
   */
  scanNormalised(text: string): readonly string[] | undefined {
    const isAccepted = this.scanner.read(Buffer.from(normalise(withoutTabs(text), this.#shape)))
    return isAccepted ? undefined : this.scanner.rejectedPath
  }

  /** Throws without a member at this path. */
  ordinalOf(...path: readonly string[]): number {
    let shape: Shape | undefined = this.#shape
    let ordinal: number | undefined
    for (const name of path) {
      const member: Member | undefined = shape?.members.get(name)
      ordinal = member?.ordinal
      shape = member?.shape
    }
    if (ordinal === undefined) throw new Error(`there is no member ${path.join('.')}`)
    return ordinal
  }

  /** `replacements`: member of the entity → string to serve instead. */
  render(replacements?: Readonly<Record<string, string>>): Rendered {
    const withOrdinal = ([name, text]: [string, string]) =>
      [this.ordinalOf(this.#entityMember, name), Buffer.from(JSON.stringify(text))] as const
    const byOrdinal = replacements && new Map(Object.entries(replacements).map(withOrdinal))
    this.#outputLength = 0
    const summary = this.#copy(this.#summarySteps, byOrdinal)
    const detail = this.#copy(this.#detailSteps, byOrdinal)
    const digest = hash('sha1', this.#output.subarray(0, this.#outputLength), 'base64url').slice(0, digestCharacters)
    return { summary, detail, digest }
  }

  #copy(steps: readonly Step[], replacements: ReadonlyMap<number, Buffer> | undefined): Buffer {
    const from = this.#outputLength
    this.#pendingEnd = none
    this.#copyMembers(steps, replacements)
    this.#put(closing)
    const text = Buffer.allocUnsafe(this.#outputLength - from)
    this.#output.copy(text, 0, from, this.#outputLength)
    return text
  }

  /** With the opening brace, but not the closing one. */
  #copyMembers(steps: readonly Step[], replacements: ReadonlyMap<number, Buffer> | undefined): void {
    const { scanner } = this
    for (const { before, ordinal, members } of steps) {
      const start = scanner.startOf(ordinal)
      const replacement = start === none ? nullText : replacements?.get(ordinal)
      if (replacement !== undefined) {
        this.#put(before)
        this.#put(replacement)
        continue
      }
      const extendsPiece = this.#pendingEnd !== none && this.#pendingEnd + before.length === start
      if (!extendsPiece) {
        this.#put(before)
        this.#pendingStart = start
      }
      const end = scanner.endOf(ordinal)
      if (members === undefined || !scanner.has(ordinal)) {
        this.#pendingEnd = end
        continue
      }
      // The piece ends before the inner object's brace, which the first inner step writes.
      this.#pendingEnd = start
      this.#copyMembers(members, replacements)
      // If the piece reaches to the closing brace, that is copied with it.
      if (this.#pendingEnd !== none && this.#pendingEnd + closing.length === end) this.#pendingEnd = end
      else this.#put(closing)
    }
  }

  #put(text: Buffer): void {
    if (this.#pendingEnd !== none) this.#append(this.scanner.bytes, this.#pendingStart, this.#pendingEnd)
    this.#pendingEnd = none
    this.#append(text, 0, text.length)
  }

  #append(source: Buffer, start: number, end: number): void {
    const length = end - start
    if (this.#outputLength + length > this.#output.length) {
      const larger = Buffer.allocUnsafe(2 * (this.#outputLength + length))
      this.#output.copy(larger, 0, 0, this.#outputLength)
      this.#output = larger
    }
    source.copy(this.#output, this.#outputLength, start, end)
    this.#outputLength += length
  }
}

type MakeMember = (name: string, kind: Kind, shape?: Shape) => Member
type JsonSchema = {
  readonly type?: string | readonly string[]
  readonly anyOf?: readonly JsonSchema[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
}

/** A member of no single type is of the kind `any`. */
function shapeOf({ properties = {} }: JsonSchema, makeMember: MakeMember): Shape {
  const members = new Map<string, Member>()
  for (const [name, property] of Object.entries(properties)) {
    // Optional: `{"anyOf": [<its schema>, {"type": "null"}]}`.
    const type = property.anyOf?.find((alternative) => alternative.type !== 'null') ?? property
    const typeNames = [type.type ?? []].flat().filter((name) => name !== 'null')
    const kind = kinds.find((candidate) => typeNames.length === 1 && typeNames[0] === candidate) ?? 'any'
    members.set(name, makeMember(name, kind, type.properties && shapeOf(type, makeMember)))
  }
  return { members, next: undefined }
}

/** Adds served members that the schema lacks to the shape. */
const stepsOf = (served: Served, { members }: Shape, makeMember: MakeMember): Step[] =>
  served.map((servedMember, at) => {
    const [name, inner] = servedPair(servedMember)
    const member = members.get(name) ?? makeMember(name, 'any')
    members.set(name, member)
    return {
      before: Buffer.from(`${at === 0 ? '{' : ','}${JSON.stringify(name)}:`),
      ordinal: member.ordinal,
      members: inner && member.shape && stepsOf(inner, member.shape, makeMember),
    }
  })

/**
 * Keeps only members of the shape, each name once, with its last value, without escapes. Integers lose fraction and exponent, which clients with integer types
 * reject: `1e3` becomes `1000`.
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

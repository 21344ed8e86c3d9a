import { z } from 'zod'

/** The served members of an object, in order; a pair is an object of which only some members are served. */
export type Served = readonly (string | readonly [name: string, members: Served])[]

/** The type of a member; `integer` is a number written in digits alone, `any` any JSON value. */
export type Kind = 'string' | 'integer' | 'number' | 'boolean' | 'object' | 'array' | 'any'

/** The members that are looked for in an object; other members are skipped. */
export type Shape = {
  readonly members: ReadonlyMap<string, Member>
  /** The first member of the last object, tried first: most records of a topic have their members in the same order. */
  next: Member | undefined
}

export type Member = {
  readonly name: Buffer
  /** The index under which the position of the member's value is stored. */
  readonly slot: number
  readonly kind: Kind
  /** The members that are looked for in the member's value. */
  readonly shape: Shape | undefined
  /** The member that came after it in the last object. */
  next: Member | undefined
}

type JsonSchema = {
  readonly type?: string | readonly string[]
  readonly anyOf?: readonly JsonSchema[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
}

/**
 * The shape of the JSON that a schema accepts: every member of the schema with its JSON type, and undocumented members that are
 * served. A shape does not check what a schema demands beyond JSON types, such as enumerated values, identifiers and instants.
 */
export function shapeOf(schema: z.ZodType, served: readonly Served[]): Shape {
  let slots = 0
  const objectShape = ({ properties = {} }: JsonSchema, served: readonly Served[]): Shape => {
    const members = served.flat().map((each) => (typeof each === 'string' ? ([each, undefined] as const) : each))
    const names = new Set([...Object.keys(properties), ...members.map(([name]) => name)])
    const shaped = new Map(
      [...names].map((name): [string, Member] => {
        const own = properties[name] ?? {}
        const type = own.anyOf?.find((each) => each.type !== 'null') ?? own
        const inner = members.flatMap(([each, of]) => (each === name && of !== undefined ? [of] : []))
        return [
          name,
          {
            name: Buffer.from(name),
            slot: slots++,
            kind: kindOf(type),
            shape: type.properties === undefined ? undefined : objectShape(type, inner),
            next: undefined,
          },
        ]
      }),
    )
    return { members: shaped, next: undefined }
  }
  return objectShape(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema, served)
}

const kinds: readonly Kind[] = ['string', 'integer', 'number', 'boolean', 'object', 'array']

function kindOf({ type }: JsonSchema): Kind {
  const named = [type ?? []].flat().filter((each) => each !== 'null')
  return kinds.find((kind) => named.length === 1 && named[0] === kind) ?? 'any'
}

/** The member at a path of names; throws when a shape has none. */
export function memberAt(shape: Shape | undefined, ...path: readonly string[]): Member {
  const [name = '', ...rest] = path
  const member = shape?.members.get(name)
  if (member === undefined) throw new Error(`${name} is not a member of this shape`)
  return rest.length === 0 ? member : memberAt(member.shape, ...rest)
}

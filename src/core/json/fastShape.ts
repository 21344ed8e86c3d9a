import { z } from 'zod'
import type { Kind, Member, Shape } from './fastScanner.ts'
import type { Served } from './servedMembers.ts'

type JsonSchema = {
  readonly type?: string | readonly string[]
  readonly enum?: readonly string[]
  readonly anyOf?: readonly JsonSchema[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
}

/**
 * The shape of plain JSON that a schema accepts: every member that it documents, of the type that it says, and those it leaves
 * open that are served. What a schema judges beyond JSON types, as identifiers and instants, a shape does not.
 */
export function shapeOf(schema: z.ZodType, served: readonly Served[]): Shape {
  let slots = 0
  const objectShape = ({ properties = {}, required = [] }: JsonSchema, served: readonly Served[]): Shape => {
    const members = served.flat().map((each) => (typeof each === 'string' ? ([each, undefined] as const) : each))
    const names = new Set([...Object.keys(properties), ...members.map(([name]) => name)])
    const looked = new Map(
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
            isRequired: required.includes(name),
            values: type.enum === undefined ? undefined : type.enum.map((value) => Buffer.from(JSON.stringify(value))),
            shape: type.properties === undefined ? undefined : objectShape(type, inner),
            next: undefined,
          },
        ]
      }),
    )
    return { members: looked, next: undefined }
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
  if (member === undefined) throw new Error(`${name} is not looked for`)
  return rest.length === 0 ? member : memberAt(member.shape, ...rest)
}

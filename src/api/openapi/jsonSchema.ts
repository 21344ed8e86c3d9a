import { z } from 'zod'
import { type Served, servedPair } from '../../core/json/scanner.ts'
import { mergedWith } from '../fields.ts'
import { defaultLimit, maxLimit } from '../parameters.ts'

export type JsonSchema = z.core.JSONSchema.BaseSchema

/** A member of a type that JSON schema lacks may have any value. */
export function jsonSchemaOf(schema: z.ZodObject): JsonSchema {
  const { $schema: _dialect, ...jsonSchema } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    // Zod omits the defaults and examples of a schema that transforms its input.
    override: ({ zodSchema, jsonSchema }) => {
      const examples = z.globalRegistry.get(zodSchema)?.['examples']
      if (Array.isArray(examples)) jsonSchema.examples = examples
      if (zodSchema instanceof z.ZodDefault) jsonSchema.default = zodSchema.def.defaultValue
    },
  })
  return explicit(jsonSchema)
}

const maxInt32 = 2 ** 31 - 1

/** Generators of clients drop an array without `items`, and read a number as a float of 32 bits. */
function explicit({ properties, items, anyOf, ...schema }: JsonSchema): JsonSchema {
  const types: readonly unknown[] = [schema.type].flat()
  const { maximum = Number.POSITIVE_INFINITY } = schema
  const members = Object.entries(properties ?? {}).map(([name, member]) => [name, explicit(member as JsonSchema)])
  return {
    ...schema,
    ...(anyOf !== undefined && { anyOf: anyOf.map((option) => explicit(option as JsonSchema)) }),
    ...(types.includes('integer') && maximum > maxInt32 && { format: 'int64' }),
    ...(types.includes('number') && { format: 'double' }),
    ...(properties !== undefined && { properties: Object.fromEntries(members) }),
    ...(types.includes('object') && properties === undefined && { additionalProperties: true }),
    ...(types.includes('array') && { items: explicit((items ?? {}) as JsonSchema) }),
  }
}

/**
 * No member is required, because `fields` may leave it out; a union with and without required members would have no type in most languages. `schema`:
 * of an object, or `anyOf` of an object and null.
 */
export function servedSchema(schema: JsonSchema, members: Served): JsonSchema {
  const [objectSchema = schema, ...otherOptions] = (schema.anyOf ?? [schema]) as JsonSchema[]
  const mayBeNull = otherOptions.length > 0
  const properties = members.map((member): [name: string, schema: JsonSchema] => {
    const [name, innerMembers] = servedPair(member)
    const property = (objectSchema.properties?.[name] ?? {}) as JsonSchema
    return [name, innerMembers === undefined ? property : servedSchema(property, innerMembers)]
  })
  return {
    ...(schema.description !== undefined && { description: schema.description }),
    type: mayBeNull ? (['object', 'null'] as never) : 'object',
    properties: Object.fromEntries(properties),
  }
}

export const countSchema = (description: string, example: number, min = 0, max = Number.MAX_SAFE_INTEGER) =>
  z
    .int()
    .min(min)
    .max(max)
    .meta({ description, examples: [example] })

/** `item`: the name of the items' schema. */
export const pageSchema = (item: string): JsonSchema =>
  jsonSchemaOf(
    z.object({
      totalDocs: countSchema('The exact number of matching items on all pages.', 1),
      page: countSchema('The requested page.', 1, 1),
      limit: countSchema('The requested number of items per page.', defaultLimit, 1, maxLimit),
      items: z.array(z.unknown().meta({ $ref: `#/components/schemas/${item}` })).describe('Newest first.'),
    }),
  )

/** Only the members that `fields` cannot leave out are required. */
export function changedRowSchema(item: JsonSchema, summary: Served, full: Served): JsonSchema {
  const { properties: ownProperties } = jsonSchemaOf(
    z.object({
      changedAt: z.string().meta({
        format: 'date-time',
        description: "The timestamp of the entity's newest record in Kafka.",
        examples: ['2026-11-28T08:30:00.000Z'],
      }),
      deleted: z.boolean().meta({
        description: '`true`: the entity is deleted. The only other members are `id` and `changedAt`.',
        examples: [false],
      }),
    }),
  )
  const row = servedSchema(item, mergedWith(summary, full))
  return { ...row, required: ['id', 'changedAt', 'deleted'], properties: { ...row.properties, ...ownProperties } }
}

export const changesPageSchema = (row: string): JsonSchema =>
  jsonSchemaOf(
    z.object({
      items: z
        .array(z.unknown().meta({ $ref: `#/components/schemas/${row}` }))
        .describe('In no particular order. Empty only if `hasMore` is false.'),
      cursor: z
        .string()
        .meta({ description: 'The parameter `cursor` of the next request.', examples: ['AQDmA1Yb9f0'] }),
      hasMore: z
        .boolean()
        .meta({ description: '`true`: more rows are ready; request them at once.', examples: [false] }),
    }),
  )

import { z } from 'zod'
import { type Served, servedPair } from '../../core/json/scanner.ts'
import { formSchema, servedForm, servedFormSummary } from '../../core/model/form.ts'
import { servedSubmission, servedSubmissionSummary, submissionSchema } from '../../core/model/submission.ts'
import { errorCodes } from '../errors.ts'
import { mergedWith } from '../fields.ts'
import { defaultLimit, maxLimit } from '../parameters.ts'
import { maxCounts } from '../search/counts.ts'
import { countSubmissionsParameters } from '../submissions.ts'

export type JsonSchema = z.core.JSONSchema.BaseSchema

/** The JSON Schema of the input of `schema`. */
export function sent(schema: z.ZodObject): JsonSchema {
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
  return forGenerators(jsonSchema)
}

const maxInt32 = 2 ** 31 - 1

/**
 * Says what a schema leaves to its reader, where generators of clients would guess wrongly: they drop an array without `items`, and read a
 * number as a float of 32 bits.
 */
function forGenerators({ properties, items, anyOf, ...schema }: JsonSchema): JsonSchema {
  const types: readonly unknown[] = [schema.type].flat()
  const { maximum = Number.POSITIVE_INFINITY } = schema
  const inner = Object.entries(properties ?? {}).map(([name, each]) => [name, forGenerators(each as JsonSchema)])
  return {
    ...schema,
    ...(anyOf !== undefined && { anyOf: anyOf.map((each) => forGenerators(each as JsonSchema)) }),
    ...(types.includes('integer') && maximum > maxInt32 && { format: 'int64' }),
    ...(types.includes('number') && { format: 'double' }),
    ...(properties !== undefined && { properties: Object.fromEntries(inner) }),
    ...(types.includes('object') && properties === undefined && { additionalProperties: true }),
    ...(types.includes('array') && { items: forGenerators((items ?? {}) as JsonSchema) }),
  }
}

/**
 * The schema of an object that is served with `members` alone. None is required: `fields` leaves out any. Two schemas, one with and one without
 * required members, would be a union, which few languages have.
 */
function served(schema: JsonSchema, members: Served): JsonSchema {
  const [{ properties: known = {} } = schema, ...others] = (schema.anyOf ?? [schema]) as JsonSchema[]
  const properties = members.map((member): [string, JsonSchema] => {
    const [name, inner] = servedPair(member)
    // A member that is not validated may be anything.
    const property = (known[name] ?? {}) as JsonSchema
    return [name, inner === undefined ? property : served(property, inner)]
  })
  return {
    ...(schema.description !== undefined && { description: schema.description }),
    type: others.length > 0 ? (['object', 'null'] as never) : 'object',
    properties: Object.fromEntries(properties),
  }
}

const count = (description: string, example: number, min = 0, max = Number.MAX_SAFE_INTEGER) =>
  z
    .int()
    .min(min)
    .max(max)
    .meta({ description, examples: [example] })

const list = (item: string): JsonSchema =>
  sent(
    z.object({
      totalDocs: count('How many match on all pages; exact.', 1),
      page: count('The page that was asked for.', 1, 1),
      limit: count('The items per page that were asked for.', defaultLimit, 1, maxLimit),
      items: z.array(z.unknown().meta({ $ref: `#/components/schemas/${item}` })).describe('Newest first.'),
    }),
  )

const counts = z.object({
  totalDocs: count(
    'How many match; exact, and the sum of all counts unless answers are counted, of which a list has several.',
    3,
  ),
  by: countSubmissionsParameters.shape.by,
  items: z
    .array(
      z.object({
        // Text, null, or a list of both: a union that most languages do not have.
        key: z
          .unknown()
          .describe(
            'The value, or when the hour, day or month begins: the clock of the time zone with its offset, as in ' +
              '`2026-03-29T03:00:00.000+02:00`; with a time and a value, a list of both. A value is text, or null for submissions without any.',
          ),
        count: z.int().min(0),
        scores: z
          .object({
            count: z.int().min(0),
            min: z.number().nullable(),
            max: z.number().nullable(),
            mean: z.number().nullable(),
          })
          .optional()
          .describe('Of the submissions that have a `result.score`. Only with `scores=true`.'),
      }),
    )
    .max(maxCounts)
    .meta({
      description:
        'Time: oldest first, without a gap from the first to the last that has any. Values: those that have any, the most frequent first, ' +
        'then by key. Both: times that have any, each with its values.',
      examples: [
        [
          { key: '2026-03-29T01:00:00.000+01:00', count: 2 },
          { key: '2026-03-29T03:00:00.000+02:00', count: 1 },
        ],
      ],
    }),
})

/** A row of a change feed: an item as it is listed, or whole, and when it changed. `fields` leaves out none of the members that are required. */
function changed(item: JsonSchema, summary: Served, full: Served): JsonSchema {
  const { properties } = sent(
    z.object({
      changedAt: z.string().meta({
        format: 'date-time',
        description: 'The time of its newest record.',
        examples: ['2026-11-28T08:30:00.000Z'],
      }),
      deleted: z.boolean().meta({
        description: '`true`: there is no other member than `id` and `changedAt`.',
        examples: [false],
      }),
    }),
  )
  const row = served(item, mergedWith(summary, full))
  return { ...row, required: ['id', 'changedAt', 'deleted'], properties: { ...row.properties, ...properties } }
}

const changes = (row: string): JsonSchema =>
  sent(
    z.object({
      items: z
        .array(z.unknown().meta({ $ref: `#/components/schemas/${row}` }))
        .describe('In no promised order. Empty only with `hasMore: false`.'),
      cursor: z.string().meta({ description: 'Where the next answer begins.', examples: ['AQDmA1Yb9f0'] }),
      hasMore: z.boolean().meta({ description: '`true`: ask again at once.', examples: [false] }),
    }),
  )

const error = z.object({
  error: z.object({
    code: z.enum(errorCodes),
    message: z.string().describe('For people; its text may change.'),
  }),
})

const form = sent(formSchema)
const submission = sent(submissionSchema)

/** The schemas of the answers, by their names in the description. */
export const answerSchemas = {
  FormSummary: served(form, servedFormSummary),
  Form: served(form, servedForm),
  SubmissionSummary: served(submission, servedSubmissionSummary),
  Submission: served(submission, servedSubmission),
  FormList: list('FormSummary'),
  SubmissionList: list('SubmissionSummary'),
  SubmissionCounts: sent(counts),
  FormChange: changed(form, servedFormSummary, servedForm),
  SubmissionChange: changed(submission, servedSubmissionSummary, servedSubmission),
  FormChanges: changes('FormChange'),
  SubmissionChanges: changes('SubmissionChange'),
  Error: sent(error),
} as const satisfies Readonly<Record<string, JsonSchema>>

export type AnswerName = keyof typeof answerSchemas

/** An example of an answer, made from those of its members. */
export function exampleOf({ $ref, properties, items, examples, enum: values }: JsonSchema): unknown {
  if ($ref !== undefined) return exampleOf(answerSchemas[$ref.split('/').at(-1) as AnswerName])
  if (properties !== undefined)
    return Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, exampleOf(each as JsonSchema)]))
  if (Array.isArray(examples)) return examples[0]
  return items === undefined ? (values?.[0] ?? null) : [exampleOf(items as JsonSchema)]
}

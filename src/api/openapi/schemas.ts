import { z } from 'zod'
import type { Served } from '../../core/json/shape.ts'
import { formSchema, servedForm, servedFormSummary } from '../../core/model/form.ts'
import { servedSubmission, servedSubmissionSummary, submissionSchema } from '../../core/model/submission.ts'
import { pageParameters } from '../parameterSchemas.ts'
import { maxCounts } from '../search/counts.ts'
import { countSubmissionsParameters } from '../submissionCounts.ts'

export type JsonSchema = z.core.JSONSchema.BaseSchema

/** The JSON Schema of the input of `schema`. */
export const sent = (schema: z.ZodObject): JsonSchema =>
  z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    // Zod omits the defaults and examples of a schema that transforms its input.
    override: ({ zodSchema, jsonSchema }) => {
      const examples = z.globalRegistry.get(zodSchema)?.['examples']
      if (Array.isArray(examples)) jsonSchema.examples = examples
      if (zodSchema instanceof z.ZodDefault) jsonSchema.default = zodSchema.def.defaultValue
    },
  })

/** The schemas of the answers, by their names in the description. */
export function answerSchemas(): Readonly<Record<string, JsonSchema>> {
  const form = sent(formSchema)
  const submission = sent(submissionSchema)
  return {
    FormSummary: served(form, servedFormSummary),
    Form: served(form, servedForm, ['fields', 'report']),
    SubmissionSummary: served(submission, servedSubmissionSummary),
    Submission: served(submission, servedSubmission),
    FormList: list('FormSummary'),
    SubmissionList: list('SubmissionSummary'),
    SubmissionCounts: counts(),
  }
}

/** The schema of an object that is served with `members` alone; those not in `omissible` are always present. */
function served(schema: JsonSchema, members: Served, omissible: readonly string[] = []): JsonSchema {
  const { properties: known = {}, description } = schema
  const properties = members.map((member): [string, JsonSchema] => {
    const [name, inner] = typeof member === 'string' ? [member] : member
    // A member that is not validated may be anything.
    const property = (known[name] ?? {}) as JsonSchema
    return [name, inner === undefined ? property : servedInner(property, inner)]
  })
  return {
    type: 'object',
    ...(description !== undefined && { description }),
    properties: Object.fromEntries(properties),
    required: properties.map(([name]) => name).filter((name) => !omissible.includes(name)),
  }
}

function servedInner(schema: JsonSchema, members: Served): JsonSchema {
  const [whenPresent, ...others] = (schema.anyOf ?? [schema]) as JsonSchema[]
  const present = { ...served(whenPresent ?? {}, members), ...pickDescription(schema) }
  return others.length === 0 ? present : { ...present, type: ['object', 'null'] as never }
}

const pickDescription = ({ description }: JsonSchema): JsonSchema => (description === undefined ? {} : { description })

function list(item: string): JsonSchema {
  const { page, limit } = sent(z.object(pageParameters)).properties ?? {}
  return {
    type: 'object',
    properties: {
      totalDocs: { type: 'integer', minimum: 0, description: 'How many match on all pages; exact.' },
      page: { ...withoutDefault(page), description: 'The page that was asked for.' },
      limit: { ...withoutDefault(limit), description: 'The items per page that were asked for.' },
      items: { type: 'array', items: { $ref: `#/components/schemas/${item}` }, description: 'Newest first.' },
    },
    required: ['totalDocs', 'page', 'limit', 'items'],
  }
}

function counts(): JsonSchema {
  const { by } = sent(countSubmissionsParameters).properties ?? {}
  const item: JsonSchema = {
    type: 'object',
    properties: {
      key: {
        type: 'string',
        description:
          'The form, the status, or when the hour, day or month begins: the clock of the time zone with its offset, as in ' +
          '`2026-03-29T03:00:00.000+02:00`.',
      },
      count: { type: 'integer', minimum: 0 },
    },
    required: ['key', 'count'],
  }
  return {
    type: 'object',
    properties: {
      totalDocs: { type: 'integer', minimum: 0, description: 'How many match; exact, and the sum of all counts.' },
      by: by ?? {},
      items: {
        type: 'array',
        maxItems: maxCounts,
        items: item,
        description:
          'Time: oldest first, without a gap from the first to the last that has any. Forms and status: those that have any, the ' +
          'most frequent first, then by key.',
      },
    },
    required: ['totalDocs', 'by', 'items'],
  }
}

function withoutDefault(schema: z.core.JSONSchema._JSONSchema | undefined): JsonSchema {
  const { default: _, ...rest } = (schema ?? {}) as JsonSchema
  return rest
}

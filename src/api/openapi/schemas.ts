import { z } from 'zod'
import { feedSchemas } from '../changeFeeds.ts'
import { errorCodes } from '../errors.ts'
import { formSchemas } from '../forms.ts'
import { countSchemas } from '../submissionCounts.ts'
import { submissionSchemas } from '../submissions.ts'
import { type JsonSchema, jsonSchemaOf } from './jsonSchema.ts'

const error = z.object({
  error: z.object({
    code: z.enum(errorCodes),
    message: z.string().describe('For people; its text may change.'),
  }),
})

export const answerSchemas = {
  ...formSchemas,
  ...submissionSchemas,
  ...countSchemas,
  ...feedSchemas,
  Error: jsonSchemaOf(error),
} as const satisfies Readonly<Record<string, JsonSchema>>

export type AnswerName = keyof typeof answerSchemas

/** Made from the examples in the schema; `null` for a schema without any. */
export function exampleOf({ $ref, properties, items, examples, enum: values }: JsonSchema): unknown {
  if ($ref !== undefined) return exampleOf(answerSchemas[$ref.split('/').at(-1) as AnswerName])
  if (properties !== undefined)
    return Object.fromEntries(
      Object.entries(properties).map(([name, member]) => [name, exampleOf(member as JsonSchema)]),
    )
  if (Array.isArray(examples)) return examples[0]
  return items === undefined ? (values?.[0] ?? null) : [exampleOf(items as JsonSchema)]
}

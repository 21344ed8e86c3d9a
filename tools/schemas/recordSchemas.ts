import { z } from 'zod'
import { accountKeySchema } from '../../src/core/model/accountKey.ts'
import { formSchema } from '../../src/core/model/form.ts'
import { maxRevision } from '../../src/core/model/ids.ts'
import { submissionSchema } from '../../src/core/model/submission.ts'

export type JsonSchema = z.core.JSONSchema.BaseSchema

/**
 * As `parseInstant` reads an instant. The format `date-time` would refuse valid instants, such as those without seconds. The pattern does not check
 * the days of a month.
 */
const instantPattern =
  '^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])[Tt]([01]\\d|2[0-3]):[0-5]\\d(:[0-5]\\d([.,]\\d+)?)?' +
  '([Zz]|[+-]([01]\\d|2[0-3])(:?[0-5]\\d)?)$'

/** JSON Schemas (2020-12) of the topics' values, by file name. */
export const recordSchemas: Readonly<Record<string, JsonSchema>> = {
  form: valueSchema('form', 'forms', formSchema),
  submission: valueSchema('submission', 'submissions', submissionSchema),
  'account-key': valueSchema('key', 'account-keys', accountKeySchema.nullable()),
}

function valueSchema(member: string, topic: string, entity: z.ZodType): JsonSchema {
  const { $schema: _, ...schema } = z.toJSONSchema(entity, { io: 'input', unrepresentable: 'any', override })
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: `Value of a record of the topic ${topic}`,
    description: 'A record without a value deletes the entity. docs/records.md says what this schema does not.',
    type: 'object',
    properties: {
      revision: {
        type: 'integer',
        minimum: 1,
        maximum: maxRevision,
        description: 'Grows with every change of the entity.',
      },
      [member]: schema as JsonSchema,
    },
    required: ['revision', member],
  }
}

/** Records may have instants that `date-time` refuses. */
function override({ jsonSchema }: { jsonSchema: JsonSchema }): void {
  if (jsonSchema.format === 'date-time') {
    delete jsonSchema.format
    jsonSchema.pattern = instantPattern
  }
}

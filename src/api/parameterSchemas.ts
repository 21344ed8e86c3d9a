import { z } from 'zod'
import { parseWindowBound, windowBoundRule } from '../core/model/instant.ts'
import { parseTimeZone } from './timeZone.ts'

/**
 * The building blocks of the routes' parameter schemas. A rule follows the parameter's name, as in
 * "limit must be an integer from 1 to 100". All parameters are sent as text; `meta` describes their type in JSON Schema.
 */

export const maxLimit = 100
export const defaultLimit = 20
const maxTitleCharacters = 200

const integer = (max: number) =>
  z
    .string()
    .transform((text, context) => {
      const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
      if (value >= 1 && value <= max) return value
      context.addIssue(`must be an integer from 1 to ${max}`)
      return z.NEVER
    })
    .meta({ type: 'integer', minimum: 1, maximum: max })

const windowBound = (edge: 'from' | 'to', description: string) =>
  z
    .string()
    .transform((text, context) => {
      const bound = parseWindowBound(text, edge)
      if (bound !== undefined) return bound
      context.addIssue(`must be ${windowBoundRule}`)
      return z.NEVER
    })
    .optional()
    .meta({
      type: undefined,
      anyOf: ['date-time', 'date'].map((format) => ({ type: 'string', format })),
      description,
      examples: ['2026-11-21T08:30:00Z', '2026-11-21'],
    })

export const pageParameters = {
  limit: integer(maxLimit).default(defaultLimit).describe('Items per page.'),
  page: integer(Number.MAX_SAFE_INTEGER).default(1).describe('Page number. A page past the last one is empty.'),
}

/** A parameter that means nothing here. Its default is accepted, as programs send it, and changes nothing. */
const meaningless = (schema: z.ZodType, rule: string) =>
  z
    .string()
    .refine((text) => {
      const { success, data } = schema.safeParse(text)
      return success && data === schema.parse(undefined)
    }, rule)
    .transform(() => undefined)
    .optional()

const inExports = 'belongs to pages: it must be left out of an export'
/** Replaces `pageParameters` in an export. */
export const noPageParameters = {
  limit: meaningless(pageParameters.limit, inExports),
  page: meaningless(pageParameters.page, inExports),
}

export const createdParameters = {
  since: windowBound('from', 'Only what was created at or after this time. A date alone is its first moment in UTC.'),
  until: windowBound('to', 'Only what was created at or before this time. A date alone is its last moment in UTC.'),
}

export const changedParameters = {
  changedSince: windowBound('from', 'Only what changed at or after this time, such as the last `Replica-Watermark`.'),
  changedUntil: windowBound('to', 'Only what changed at or before this time.'),
}

export const oneOf = <const Values extends readonly string[]>(values: Values) =>
  z.enum(values, { error: `must be one of ${values.join(', ')}` }).optional()

export const timeZone = z
  .string()
  .transform((name, context) => {
    const zone = parseTimeZone(name)
    if (zone !== undefined) return zone
    context.addIssue('must be the name of an IANA time zone, such as Europe/Berlin')
    return z.NEVER
  })
  .optional()
  .meta({ type: 'string', examples: ['Europe/Berlin', 'UTC'] })

export const text = z.string().min(1, 'must not be empty').optional()

/** Part of a title. An empty one matches every title. */
export const title = z
  .string()
  .refine((value) => [...value].length <= maxTitleCharacters, `must be at most ${maxTitleCharacters} characters`)
  .optional()
  .meta({ maxLength: maxTitleCharacters })

export const flag = (isDefault: boolean) =>
  z
    .string()
    .refine((value) => /^(?:true|false)$/i.test(value), 'must be true or false')
    .transform((value) => value.toLowerCase() === 'true')
    .default(isDefault)
    .meta({ type: 'boolean' })

const views = ['summary', 'full'] as const

/** What an export holds besides the items that its filters select. */
export const exportParameters = {
  view: z
    .enum(views, { error: `must be one of ${views.join(', ')}` })
    .default('summary')
    .describe('Only in NDJSON exports. `full` makes each line what the endpoint of a single item answers.'),
  includeDeleted: flag(false).describe(
    'Only in NDJSON exports with `changedSince`, and with no other filter than `changedUntil`: `true` adds a line for each item that was deleted in that time.',
  ),
}

const withoutExports = (rule: string) => ({
  view: meaningless(exportParameters.view, rule),
  includeDeleted: meaningless(exportParameters.includeDeleted, rule),
})

/** Replaces `exportParameters` on a page. */
export const noExportParameters = withoutExports(
  'belongs to exports (Accept: application/x-ndjson): it must be left out of a page',
)

/** Replaces `exportParameters` in CSV, whose columns are those of summaries. */
export const noLineParameters = withoutExports(
  'belongs to NDJSON (Accept: application/x-ndjson): it must be left out of CSV',
)

export type ExportParameters = z.output<z.ZodObject<typeof exportParameters>>

import { z } from 'zod'
import type { Branded } from '../core/model/ids.ts'
import { parseWindowBound, windowBoundRule } from '../core/model/instant.ts'

/**
 * The building blocks of the routes' parameter schemas. A rule follows the parameter's name, as in
 * "limit must be an integer from 1 to 100". All parameters are sent as text; `meta` describes their type in JSON Schema.
 */

export const maxLimit = 100
export const defaultLimit = 20
const maxTitleCharacters = 200

/** Text that `parse` understands; it gives undefined for any other. */
const parsed = <Value>(parse: (text: string) => Value | undefined, rule: string) =>
  z.string().transform((text, context) => {
    const value = parse(text)
    if (value !== undefined) return value
    context.addIssue(rule)
    return z.NEVER
  })

function integer(max: number) {
  const parse = (text: string): number | undefined => {
    const value = /^\d+$/.test(text) ? Number(text) : 0
    return value >= 1 && value <= max ? value : undefined
  }
  return parsed(parse, `must be an integer from 1 to ${max}`).meta({ type: 'integer', minimum: 1, maximum: max })
}

const windowBound = (edge: 'from' | 'to', description: string) =>
  parsed((text) => parseWindowBound(text, edge), `must be ${windowBoundRule}`)
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

/** The name of a time zone, in the spelling of this process's time zone data. */
export type TimeZone = Branded<string, 'TimeZone'>

export const utc = 'UTC' as TimeZone

/** Of the three-letter names that programs know, those that IANA knows: `PST` and `IST` mean several zones. */
const shortNames = /^(?:CET|EET|EST|GMT|HST|MET|MST|PRC|ROC|ROK|UCT|UTC|WET)$/i

/**
 * Reads an IANA time zone name in any letter case; a `+` that a query string turned into a space is read as `+`. Undefined for an
 * offset, and for everything else.
 */
export function parseTimeZone(sent: string): TimeZone | undefined {
  const text = sent.replace(' ', '+')
  const isName = /^[a-z]/i.test(text) && (text.length !== 3 || shortNames.test(text))
  if (!isName) return undefined
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone as TimeZone
  } catch {
    return undefined
  }
}

export const timeZone = parsed(parseTimeZone, 'must be the name of an IANA time zone, such as Europe/Berlin')
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

/** What an export holds besides the items that its filters select. */
export const exportParameters = {
  view: z
    .enum(['summary', 'full'], { error: 'must be one of summary, full' })
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

import { z } from 'zod'
import { identifierPattern, identifierRule, isIdentifier } from './ids.ts'
import { instantRule, parseInstant } from './instant.ts'

/**
 * Building blocks of the record schemas. Documented fields may be missing or null, but never have another JSON type; `meta` adds the
 * JSON Schema that zod cannot derive.
 */

export const identifier = z
  .string()
  .refine(isIdentifier, `must be ${identifierRule}`)
  .meta({ pattern: identifierPattern.source })

/** ISO 8601 with an offset; becomes UTC with milliseconds. */
export const instant = z
  .string()
  .transform((text, context) => {
    const parsed = parseInstant(text)
    if (parsed !== undefined) return parsed
    context.addIssue(`must be ${instantRule}`)
    return z.NEVER
  })
  .meta({ format: 'date-time' })

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const optionalString = z.string().nullish()
/** Any JSON number: also one beyond the range of a double, which is served as written. */
export const optionalNumber = z
  .custom<number>((value) => typeof value === 'number', 'expected a number')
  .meta({ type: 'number' })
  .nullish()
/** A JSON number that is read as an integer, as JSON Schema has it: also `17.0` and `1e3`. */
export const optionalInteger = z
  .custom<number>(Number.isInteger, 'expected an integer')
  .meta({ type: 'integer' })
  .nullish()
export const optionalBoolean = z.boolean().nullish()
/** An object or array whose content the specification leaves open: only its own type is validated. */
export const optionalObject = z
  .custom<Readonly<Record<string, unknown>>>(isObject, 'expected an object')
  .meta({ type: 'object' })
  .nullish()
export const optionalArray = z.custom<unknown[]>(Array.isArray, 'expected an array').meta({ type: 'array' }).nullish()

/** Why a record, parameter or setting is refused: its path, and the rule that it breaks. */
export type Problem = { readonly path: string; readonly rule: string }

export type Result<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: Problem }

export const accepted = <T>(value: T): Result<T> => ({ ok: true, value })
export const refused = (path: string, rule: string): Result<never> => ({ ok: false, problem: { path, rule } })

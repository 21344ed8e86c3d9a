import { z } from 'zod'
import { identifierPattern, identifierRule, isIdentifier } from './ids.ts'
import { instantRule, parseInstant } from './instant.ts'

/* `meta` adds JSON Schema that zod cannot derive. */

export const identifier = z
  .string()
  .refine(isIdentifier, `must be ${identifierRule}`)
  .meta({ pattern: identifierPattern.source })

/** `parse` returns undefined for text that breaks `rule`. */
export const parsed = <Value>(parse: (text: string) => Value | undefined, rule: string) =>
  z.string().transform((text, context) => {
    const value = parse(text)
    if (value !== undefined) return value
    context.addIssue(rule)
    return z.NEVER
  })

export const instant = parsed(parseInstant, `must be ${instantRule}`).meta({ format: 'date-time' })

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const optionalString = z.string().nullish()
/** May be beyond the range of a double: the API serves numbers as written. */
export const optionalNumber = z
  .custom<number>((value) => typeof value === 'number', 'expected a number')
  .meta({ type: 'number' })
  .nullish()
export const optionalBoolean = z.boolean().nullish()
export const optionalObject = z
  .custom<Readonly<Record<string, unknown>>>(isObject, 'expected an object')
  .meta({ type: 'object' })
  .nullish()
export const optionalArray = z.custom<unknown[]>(Array.isArray, 'expected an array').meta({ type: 'array' }).nullish()

/** Of a refused member, parameter or setting: `port` `must be an integer`. */
export type Problem = { readonly path: string; readonly rule: string }

export type Result<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: Problem }

export const accepted = <T>(value: T): Result<T> => ({ ok: true, value })
export const refused = (path: string, rule: string): Result<never> => ({ ok: false, problem: { path, rule } })

/** Undefined if `read` throws. */
export function attempt<Read>(read: () => Read): Read | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

import { z } from 'zod'
import { parseWindowBound } from '../domain/instant.ts'

/**
 * What the routes' parameter schemas are built from. A rule is worded to follow the parameter's name, as in
 * "limit must be an integer from 1 to 100".
 */

const maxLimit = 100
const defaultLimit = 20
const maxTitleCharacters = 200

const integer = (max: number) =>
  z.string().transform((text, context) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
    if (value >= 1 && value <= max) return value
    context.addIssue(`must be an integer from 1 to ${max}`)
    return z.NEVER
  })

const windowBound = (edge: 'from' | 'to') =>
  z.string().transform((text, context) => {
    const bound = parseWindowBound(text, edge)
    if (bound !== undefined) return bound
    context.addIssue('must be an ISO 8601 date or date-time')
    return z.NEVER
  })

export const pageParameters = {
  limit: integer(maxLimit).default(defaultLimit),
  page: integer(Number.MAX_SAFE_INTEGER).default(1),
}

export const createdParameters = {
  since: windowBound('from').optional(),
  until: windowBound('to').optional(),
}

export const changedParameters = {
  changedSince: windowBound('from').optional(),
  changedUntil: windowBound('to').optional(),
}

export const oneOf = <const Values extends readonly string[]>(values: Values) =>
  z.enum(values, { error: `must be one of ${values.join(', ')}` }).optional()

export const text = z.string().min(1, 'must not be empty').optional()

/** May be empty, which filters nothing. */
export const title = z
  .string()
  .refine((value) => [...value].length <= maxTitleCharacters, `must be at most ${maxTitleCharacters} characters`)
  .optional()

export const flag = z
  .string()
  .regex(/^(?:true|false)$/i, 'must be true or false')
  .transform((value) => value.toLowerCase() === 'true')
  .default(true)

import { maxUrlBytes } from '../../core/process/clientErrors.ts'
import { errorStatuses } from '../errors.ts'
import { csv, ndjson } from '../exports.ts'
import type { HeaderName } from './headers.ts'
import type { JsonSchema } from './schemas.ts'

type ErrorResponse = {
  readonly description: string
  /** An example of the message. */
  readonly message: string
  readonly headers: readonly HeaderName[]
}
type Response = Readonly<Record<string, unknown>>

const always: readonly HeaderName[] = ['X-Request-Id', 'Cache-Control', 'Vary']
const counted: readonly HeaderName[] = [...always, 'RateLimit-Policy', 'RateLimit']
const read: readonly HeaderName[] = [...counted, 'Ignored-Parameters', 'Replica-Watermark', 'ETag']

const errors: Readonly<Record<keyof typeof errorStatuses, ErrorResponse>> = {
  bad_request: {
    description:
      'A parameter breaks its rule; the message names it, the rule and what was sent. Or `Host` is missing, or it or `Authorization` was ' +
      'sent twice.',
    message: 'limit must be an integer from 1 to 100, not "500"',
    headers: [...counted, 'Ignored-Parameters'],
  },
  unauthorized: {
    description: 'The key is missing, unknown, expired or revoked, or the token is no account key.',
    message: 'a valid account API key is required: Authorization: Bearer <API_KEY>',
    headers: [...always, 'WWW-Authenticate'],
  },
  not_found: {
    description: 'The team has nothing under this id.',
    message: 'no such form',
    headers: [...counted, 'Ignored-Parameters'],
  },
  method_not_allowed: {
    description: 'Only `GET`, `HEAD` and `OPTIONS` are supported.',
    message: 'only GET, HEAD, OPTIONS are supported',
    headers: [...counted, 'Allow'],
  },
  request_timeout: {
    description: 'The request came too slowly.',
    message: 'the request took too long to arrive',
    headers: always,
  },
  uri_too_long: {
    description: `The URL takes more than ${maxUrlBytes / 1024} KiB.`,
    message: 'the URL is too long',
    headers: always,
  },
  rate_limited: {
    description: 'The key has used up the requests of its window, or too many exports of its team are running.',
    message: 'too many requests with this key; retry in 42 s',
    headers: [...counted, 'Retry-After'],
  },
  headers_too_long: {
    description: 'The headers take more than 16 KiB.',
    message: 'the headers are too long',
    headers: always,
  },
  internal_error: {
    description: 'A bug. `X-Request-Id` identifies the request in the logs.',
    message: 'an unexpected error; the X-Request-Id header identifies it',
    headers: [...counted, 'Ignored-Parameters'],
  },
  service_unavailable: {
    description: 'What the answer needs cannot be reached, or is not complete. Never half an answer.',
    message: 'temporarily unavailable; retry later',
    headers: [...counted, 'Ignored-Parameters', 'Retry-After'],
  },
}

const codes = Object.keys(errors) as (keyof typeof errors)[]

/** Every error answer, by its code. */
export const errorResponses = (): Readonly<Record<string, Response>> =>
  Object.fromEntries(
    codes.map((code) => {
      const { description, message, headers } = errors[code]
      const content = json(errorSchema(code), { example: { value: { error: { code, message } } } })
      return [code, { description: `\`${code}\`: ${description}`, headers: named(headers), content }]
    }),
  )

/** References to the error answers of an operation, by status. */
export const errorReferences = (canBeMissing: boolean): Readonly<Record<string, { readonly $ref: string }>> =>
  Object.fromEntries(
    codes
      .filter((code) => canBeMissing || code !== 'not_found')
      .map((code) => [errorStatuses[code], { $ref: `#/components/responses/${code}` }]),
  )

export const success = (
  description: string,
  schemaName: string,
  examples: Readonly<Record<string, unknown>>,
  line: string | undefined,
): Response => ({
  description,
  headers: named(line === undefined ? read : [...read, 'Link', 'Preference-Applied']),
  content: {
    ...json({ $ref: `#/components/schemas/${schemaName}` }, examples),
    ...(line !== undefined && { [ndjson]: { schema: linesOf(line) }, [csv]: { schema: tableOf(line) } }),
  },
})

const linesOf = (line: string): JsonSchema => ({
  type: 'string',
  description:
    `Every ${line} that matches, one a line, all of one moment; without \`limit\` and \`page\`. With \`view=full\` each line is what the ` +
    `endpoint of a single ${line} answers. With \`includeDeleted=true\`, lines \`{"id": "…", "deleted": true}\` follow for what was deleted. An ` +
    'answer that breaks off is not whole.',
})

const tableOf = (line: string): JsonSchema => ({
  type: 'string',
  description:
    `The same as RFC 4180 in UTF-8, after a header: a ${line} a line, a column for each field, named by its path with dots. Text is quoted, ` +
    'and what a spreadsheet would run begins with a single quote.',
})

export const notModified = (isList: boolean): Response => ({
  description: 'Nothing has changed since the answer whose `ETag` was sent.',
  headers: named(isList ? [...read, 'Preference-Applied'] : read),
})

const errorSchema = (code: string): JsonSchema => ({
  type: 'object',
  properties: {
    error: {
      type: 'object',
      properties: {
        code: { type: 'string', const: code },
        message: { type: 'string', description: 'For people; its text may change.' },
      },
      required: ['code', 'message'],
    },
  },
  required: ['error'],
})

const json = (schema: JsonSchema, examples: Readonly<Record<string, unknown>>) => ({
  'application/json': { schema, examples },
})

function named(names: readonly HeaderName[]): Response {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

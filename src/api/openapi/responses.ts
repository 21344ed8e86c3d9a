import { maxUrlBytes } from '../../core/process/clientErrors.ts'
import { allowedMethods, errorMessages, errorStatuses, privateHeaders } from '../errors.ts'
import { csv, ndjson } from '../exports.ts'
import type { Endpoint } from '../routes.ts'
import { answerSchemas, exampleOf, type JsonSchema, objectOf } from './schemas.ts'

const text = (description: string, example: string) => ({ description, schema: { type: 'string' }, example })

/** Every header that answers carry, by its name. */
export const headers = {
  'X-Request-Id': {
    description: 'Names the request in the logs.',
    required: true,
    schema: { type: 'string', format: 'uuid' },
    example: '6f1c6f0e-3f43-4d0c-9d6d-0d5b1c8f7a10',
  },
  'Cache-Control': {
    ...text('Answers are for one key alone, and are to be asked for again.', privateHeaders['Cache-Control']),
    required: true,
  },
  Vary: {
    ...text('The request headers that an answer depends on.', privateHeaders.Vary),
    required: true,
  },
  'RateLimit-Policy': text("The key's requests (`q`) in a window of so many seconds (`w`).", '"key";q=120;w=60'),
  RateLimit: text(
    "What is left (`r`) of the key's window, and the seconds (`t`) until the next one. A window begins with the key's first " +
      'request; refused requests do not extend it.',
    '"key";r=119;t=60',
  ),
  'Replica-Watermark': {
    description:
      'Every change appended to Kafka before this instant is in the answer. It never goes back. Left out when no such promise ' +
      'can be made.',
    schema: { type: 'string', format: 'date-time' },
    example: '2026-11-21T08:30:00.000Z',
  },
  ETag: {
    description: 'A weak validator of the answer, for `If-None-Match`.',
    schema: { type: 'string', pattern: '^W/".*"$' },
    example: 'W/"2b7f0c9a"',
  },
  Link: text(
    'Of a page: the `first`, `prev`, `next` and `last` page with the same query (RFC 8288). Left out when it takes more than 4 KiB.',
    '<https://api.example.com/api/v1/records?page=2>; rel="next"',
  ),
  'Preference-Applied': text(
    'Of a request with `Prefer: wait=N` that was held, or would have been, until there was a change (RFC 7240).',
    'wait=30',
  ),
  'Ignored-Parameters': text(
    'The parameters that were sent and are not known, percent-encoded: at most ten names and 256 bytes.',
    'Limit',
  ),
  'Retry-After': {
    description: 'Whole seconds after which asking again makes sense.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
    example: 5,
  },
  'WWW-Authenticate': {
    ...text('`Bearer`; with `error="invalid_token"` when a token was sent.', 'Bearer error="invalid_token"'),
    required: true,
  },
  Allow: { ...text('The methods there are.', allowedMethods), required: true },
} as const

type HeaderName = keyof typeof headers

type ErrorResponse = readonly [description: string, headers: readonly HeaderName[]]
type Response = Readonly<Record<string, unknown>>

const always: readonly HeaderName[] = ['X-Request-Id', 'Cache-Control', 'Vary']
const counted: readonly HeaderName[] = [...always, 'RateLimit-Policy', 'RateLimit']
const read: readonly HeaderName[] = [...counted, 'Ignored-Parameters', 'Replica-Watermark', 'ETag']

const errors: Readonly<Record<keyof typeof errorStatuses, ErrorResponse>> = {
  bad_request: [
    'A parameter breaks its rule; the message names it, the rule and what was sent. Or `Host` is missing, or it or `Authorization` was ' +
      'sent twice.',
    [...counted, 'Ignored-Parameters'],
  ],
  unauthorized: [
    'The key is missing, unknown, expired or revoked, or the token is no account key.',
    [...always, 'WWW-Authenticate'],
  ],
  not_found: ['The team has nothing under this id.', [...counted, 'Ignored-Parameters']],
  method_not_allowed: ['Only `GET`, `HEAD` and `OPTIONS` are supported.', [...counted, 'Allow']],
  request_timeout: ['The request came too slowly.', always],
  uri_too_long: [`The URL takes more than ${maxUrlBytes / 1024} KiB.`, always],
  rate_limited: [
    'The key has used up the requests of its window, or too many exports of its team are running.',
    [...counted, 'Retry-After'],
  ],
  headers_too_long: ['The headers take more than 16 KiB.', always],
  internal_error: ['A bug. `X-Request-Id` identifies the request in the logs.', [...counted, 'Ignored-Parameters']],
  service_unavailable: [
    'What the answer needs cannot be reached, or is not complete. Never half an answer.',
    [...counted, 'Ignored-Parameters', 'Retry-After'],
  ],
}

const codes = Object.keys(errors) as (keyof typeof errors)[]

/** Every error answer, by its code. */
export const errorResponses = (): Readonly<Record<string, Response>> =>
  Object.fromEntries(
    codes.map((code) => {
      const [description, headers] = errors[code]
      const content = json(errorSchema(code), { error: { code, message: errorMessages[code] } })
      return [code, { description: `\`${code}\`: ${description}`, headers: named(headers), content }]
    }),
  )

const errorSchema = (code: string): JsonSchema =>
  objectOf({
    error: objectOf({
      code: { type: 'string', const: code },
      message: { type: 'string', description: 'For people; its text may change.' },
    }),
  })

/** The answers of an endpoint by status; the errors are references. */
export function responsesOf({ path, summary, answer, line }: Endpoint): Readonly<Record<string, Response>> {
  const isMissing = (code: string): boolean => code === 'not_found' && !path.includes(':id')
  const answered = json({ $ref: `#/components/schemas/${answer}` }, exampleOf(answerSchemas[answer]))
  return {
    200: {
      description: summary,
      headers: named(line === undefined ? read : [...read, 'Link', 'Preference-Applied']),
      content: line === undefined ? answered : { ...answered, ...exportsOf(line) },
    },
    304: {
      description: 'Nothing has changed since the answer whose `ETag` was sent.',
      headers: named(line === undefined ? read : [...read, 'Preference-Applied']),
    },
    ...Object.fromEntries(codes.filter((code) => !isMissing(code)).map(reference)),
  }
}

const reference = (code: (typeof codes)[number]) =>
  [errorStatuses[code], { $ref: `#/components/responses/${code}` }] as const

const exportsOf = (line: string): Response => ({
  [ndjson]: {
    schema: {
      type: 'string',
      description:
        `Every ${line} that matches, one a line, all of one moment; without \`limit\` and \`page\`. With \`view=full\` each line is what the ` +
        `endpoint of a single ${line} answers. With \`includeDeleted=true\`, lines \`{"id": "…", "deleted": true}\` follow for what was deleted. An ` +
        'answer that breaks off is not whole.',
    },
  },
  [csv]: {
    schema: {
      type: 'string',
      description:
        `The same as RFC 4180 in UTF-8, after a header: a ${line} a line, a column for each field, named by its path with dots. Text is quoted, ` +
        'and what a spreadsheet would run begins with a single quote.',
    },
  },
})

const json = (schema: JsonSchema, example: unknown): Response => ({
  'application/json': { schema, examples: { example: { value: example } } },
})

function named(names: readonly HeaderName[]): Response {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

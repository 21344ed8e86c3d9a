import { maxUrlBytes } from '../../core/http/clientErrors.ts'
import { accountKeyPrefix } from '../../core/model/accountKey.ts'
import type { Endpoint } from '../endpoint.ts'
import { allowedMethods, type ErrorCode, errorAnswers, errorCodes, privateHeaders } from '../errors.ts'
import { csv, ndjson } from '../exports.ts'
import { anyCode } from '../parameters.ts'
import { endpoints } from '../routes.ts'
import { maxWaitSeconds } from '../waiting.ts'
import { type JsonSchema, jsonSchemaOf } from './jsonSchema.ts'
import { type AnswerName, answerSchemas, exampleOf } from './schemas.ts'

const introduction = `Read-only JSON for one team: its forms, and the submissions that these collected.

Every request carries an account key, \`Authorization: Bearer ${accountKeyPrefix}…\`. A key reads all data of its team, and nothing else.
Submissions contain personal data of respondents; handle them with care. The page [/explore](/explore) shows charts of submissions.

A known field without a value is \`null\`. Unknown parameters filter nothing and are named in \`Ignored-Parameters\`. \`HEAD\` answers as
\`GET\` without a body. A trailing slash in a path makes no difference.`

/** Generated from the schemas that validate parameters and Kafka records. */
export const describeApi = (serverUrl: string) => ({
  openapi: '3.1.1',
  info: { title: 'Tidemark', version: 'v1', description: introduction },
  servers: [{ url: serverUrl }],
  security: [{ accountKey: [] }],
  tags: [
    { name: 'Forms', description: 'Quiz form definitions.' },
    { name: 'Records', description: 'Submissions: answers, scores, reports.' },
  ],
  paths: Object.fromEntries(
    endpoints.map((endpoint) => [endpoint.path.replace(':id', '{id}'), { get: describe(endpoint) }]),
  ),
  components: {
    schemas: answerSchemas,
    responses: errorResponses(),
    headers: headers(),
    securitySchemes: {
      accountKey: {
        type: 'http',
        scheme: 'bearer',
        description: `An account API key of a team, which begins with \`${accountKeyPrefix}\`.`,
      },
    },
  },
})

const describe = (endpoint: Endpoint<AnswerName>) => ({
  operationId: endpoint.operationId,
  tags: [endpoint.path.startsWith('/form') ? 'Forms' : 'Records'],
  summary: endpoint.summary,
  description: endpoint.description,
  parameters: [
    ...(endpoint.path.includes(':id') ? [pathParameter(answerSchemas[endpoint.answer])] : []),
    ...queryParameters(jsonSchemaOf(endpoint.parameters)),
    endpoint.isFeed ? prefer : ifNoneMatch,
  ],
  responses: responsesOf(endpoint),
})

const textParameter = (name: string, where: 'path' | 'header', description: string | undefined, example?: unknown) => ({
  name,
  in: where,
  required: where === 'path',
  description,
  schema: { type: 'string' },
  example,
})

function pathParameter({ properties = {} }: JsonSchema) {
  const id = properties['id'] as JsonSchema
  return textParameter('id', 'path', id.description, exampleOf(id))
}

/** Leaves out `answer.<code>`: half of the generated clients in the tests send members of an exploded object under wrong names. */
const queryParameters = ({ properties = {}, required = [] }: JsonSchema) =>
  Object.entries(properties)
    .filter(([name]) => !name.endsWith(anyCode))
    .map(([name, property]) => {
      const { description, ...schema } = property as JsonSchema
      return { name, in: 'query', required: required.includes(name), description, schema }
    })

const ifNoneMatch = textParameter(
  'If-None-Match',
  'header',
  'The `ETag` of an earlier answer, several of them separated by commas, or `*`. If nothing has changed since, the answer is 304.',
)

const prefer = textParameter(
  'Prefer',
  'header',
  `\`wait=N\` (RFC 7240), N from 1 to ${maxWaitSeconds}: the answer comes with its first row, or empty after N seconds. Needs a \`cursor\` other ` +
    'than `latest`. When too many requests are waiting, the answer comes at once, without `Preference-Applied`.',
  'wait=30',
)

type Header = readonly [description: string, example: string | number, schema?: JsonSchema]

const allHeaders = {
  'X-Request-Id': [
    "Identifies the request in the server's logs.",
    '6f1c6f0e-3f43-4d0c-9d6d-0d5b1c8f7a10',
    { type: 'string', format: 'uuid' },
  ],
  'Cache-Control': ['An answer is for its key alone, and a cache must revalidate it.', privateHeaders['Cache-Control']],
  Vary: ['The request headers that an answer depends on.', privateHeaders.Vary],
  'RateLimit-Policy': [
    "Requests that the key may send in a window (`q`), and the window's length in seconds (`w`).",
    '"key";q=120;w=60',
  ],
  RateLimit: [
    "Requests left (`r`) in the key's window, and seconds (`t`) until the next window. A window begins with the key's first " +
      'request; refused requests do not extend it.',
    '"key";r=119;t=60',
  ],
  'Replica-Watermark': [
    'Every change appended to Kafka before this instant is in the answer. Left out while this cannot be promised.',
    '2026-11-21T08:30:00.000Z',
    { type: 'string', format: 'date-time' },
  ],
  ETag: [
    'A weak validator of the answer, for `If-None-Match`.',
    'W/"2b7f0c9a"',
    { type: 'string', pattern: '^W/".*"$' },
  ],
  Link: [
    'Of a page: the `first`, `prev`, `next` and `last` page with the same query (RFC 8288). Left out above 4 KiB.',
    '<https://api.example.com/api/v1/records?page=2>; rel="next"',
  ],
  'Changes-Cursor': [
    'Of an export: the `cursor` with which to continue in `/form-changes` or `/record-changes`, with the same `view` and `fields`. Left out while ' +
      'the change feed cannot be read.',
    'AQDmA1Yb9f0',
  ],
  'Preference-Applied': ['Confirms the `wait` of `Prefer` (RFC 7240), also when there was a row at once.', 'wait=30'],
  'Ignored-Parameters': [
    'The unknown parameters of the request, percent-encoded: at most ten names and 256 bytes.',
    'Limit',
  ],
  'Retry-After': ['Whole seconds to wait before a retry.', 5, { type: 'integer', minimum: 1 }],
  'WWW-Authenticate': ['`Bearer`; with `error="invalid_token"` when a token was sent.', 'Bearer error="invalid_token"'],
  Allow: ['The supported methods.', allowedMethods],
} as const satisfies Readonly<Record<string, Header>>

type HeaderName = keyof typeof allHeaders
type Description = Readonly<Record<string, unknown>>

const commonHeaders: readonly HeaderName[] = ['X-Request-Id', 'Cache-Control', 'Vary']
/** An answer whose description names one of these headers always has it. */
const guaranteedHeaders: readonly string[] = [...commonHeaders, 'Retry-After', 'WWW-Authenticate', 'Allow']

const headers = (): Description =>
  Object.fromEntries(
    Object.entries<Header>(allHeaders).map(([name, [description, example, schema = { type: 'string' }]]) => [
      name,
      { description, schema, example, ...(guaranteedHeaders.includes(name) && { required: true }) },
    ]),
  )

const authenticatedHeaders: readonly HeaderName[] = [...commonHeaders, 'RateLimit-Policy', 'RateLimit']
const feedHeaders: readonly HeaderName[] = [...authenticatedHeaders, 'Ignored-Parameters', 'Replica-Watermark']
const validatedHeaders: readonly HeaderName[] = [...feedHeaders, 'ETag']

const errors = {
  bad_request: [
    'A parameter breaks its rule: the message names the parameter, the rule and the value that was sent. Or `Host` is missing. Or `Host` or ' +
      '`Authorization` was sent twice.',
    [...authenticatedHeaders, 'Ignored-Parameters'],
  ],
  unauthorized: [
    'The key is missing, unknown, expired or revoked, or the token is no account key.',
    [...commonHeaders, 'WWW-Authenticate'],
  ],
  cursor_expired: [
    'Deletions since the cursor are unknown. Start without a cursor; once `hasMore` is false, remove stored rows that were not returned since.',
    [...authenticatedHeaders, 'Ignored-Parameters'],
  ],
  not_found: ['The team has no form or submission with this id.', [...authenticatedHeaders, 'Ignored-Parameters']],
  method_not_allowed: ['Only `GET`, `HEAD` and `OPTIONS` are supported.', [...authenticatedHeaders, 'Allow']],
  request_timeout: ['The request took too long to arrive.', commonHeaders],
  uri_too_long: [`The URL takes more than ${maxUrlBytes / 1024} KiB.`, commonHeaders],
  rate_limited: [
    'The key has used all requests of its window, or its team has too many requests or exports in progress.',
    [...authenticatedHeaders, 'Retry-After'],
  ],
  headers_too_long: ['The headers take more than 16 KiB.', commonHeaders],
  internal_error: [
    'A bug. `X-Request-Id` identifies the request in the logs.',
    [...authenticatedHeaders, 'Ignored-Parameters'],
  ],
  service_unavailable: [
    'The whole answer is not available now; a partial answer is never sent. Retry later.',
    [...authenticatedHeaders, 'Ignored-Parameters', 'Retry-After'],
  ],
} as const satisfies Readonly<Record<ErrorCode, readonly [description: string, headers: readonly HeaderName[]]>>

const errorResponses = (): Description =>
  Object.fromEntries(
    errorCodes.map((code) => {
      const [description, names] = errors[code]
      const content = json(referenceTo('Error'), { error: { code, message: errorAnswers[code][1] } })
      return [code, { description: `\`${code}\`: ${description}`, headers: headerReferences(names), content }]
    }),
  )

function responsesOf({ path, summary, answer, exportedRow, isFeed }: Endpoint<AnswerName>): Description {
  const jsonContent = json(referenceTo(answer), exampleOf(answerSchemas[answer]))
  const listHeaders = exportedRow === undefined ? [] : (['Link', 'Changes-Cursor'] as const)
  const isPossible = (code: ErrorCode): boolean => {
    if (code === 'cursor_expired') return isFeed === true
    if (code === 'not_found') return path.includes(':id')
    return true
  }
  return {
    200: {
      description: summary,
      headers: headerReferences(
        isFeed ? [...feedHeaders, 'Preference-Applied'] : [...validatedHeaders, ...listHeaders],
      ),
      content: exportedRow === undefined ? jsonContent : { ...jsonContent, ...exportsOf(exportedRow) },
    },
    ...(isFeed !== true && {
      304: {
        description: 'Nothing has changed since the answer whose `ETag` was sent.',
        headers: headerReferences(validatedHeaders),
      },
    }),
    ...Object.fromEntries(
      errorCodes.filter(isPossible).map((code) => [errorAnswers[code][0], { $ref: `#/components/responses/${code}` }]),
    ),
  }
}

const referenceTo = (name: AnswerName): JsonSchema => ({ $ref: `#/components/schemas/${name}` })

const exportsOf = (row: string): Description => ({
  [ndjson]: {
    schema: {
      type: 'string',
      description:
        `Every matching ${row}, one on each line, all from one snapshot; without \`limit\` and \`page\`. With \`view=full\`, each line is the ` +
        `answer of the endpoint of a single ${row}. If the connection breaks, the answer is incomplete.`,
    },
  },
  [csv]: {
    schema: {
      type: 'string',
      description:
        'The same rows as CSV (RFC 4180, UTF-8), after a header. Each column is a field, named by its path with dots. Text is quoted; a single ' +
        'quote stands before what a spreadsheet would run as a formula.',
    },
  },
})

const json = (schema: JsonSchema, example: unknown): Description => ({
  'application/json': { schema, examples: { example: { value: example } } },
})

function headerReferences(names: readonly HeaderName[]): Description {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

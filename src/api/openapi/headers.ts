import type { JsonSchema } from './schemas.ts'

type Header = {
  readonly description: string
  readonly required?: true
  readonly schema: JsonSchema
  readonly example: string | number
}

const text: JsonSchema = { type: 'string' }
const seconds: JsonSchema = { type: 'integer', minimum: 1 }

/** Every header that answers carry, by its name. */
export const headers = {
  'X-Request-Id': {
    description: 'Names the request in the logs.',
    required: true,
    schema: { type: 'string', format: 'uuid' },
    example: '6f1c6f0e-3f43-4d0c-9d6d-0d5b1c8f7a10',
  },
  'Cache-Control': {
    description: 'Answers are for one key alone, and are to be asked for again.',
    required: true,
    schema: text,
    example: 'private, no-cache',
  },
  Vary: {
    description: 'The request headers that an answer depends on.',
    required: true,
    schema: text,
    example: 'Authorization, Accept, Accept-Encoding',
  },
  'RateLimit-Policy': {
    description: "The key's requests (`q`) in a window of so many seconds (`w`).",
    schema: text,
    example: '"key";q=120;w=60',
  },
  RateLimit: {
    description:
      "What is left (`r`) of the key's window, and the seconds (`t`) until the next one. A window begins with the key's first " +
      'request; refused requests do not extend it.',
    schema: text,
    example: '"key";r=119;t=60',
  },
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
  Link: {
    description:
      'Of a page: the `first`, `prev`, `next` and `last` page with the same query (RFC 8288). Left out when it takes more than 4 KiB.',
    schema: text,
    example: '<https://api.example.com/api/v1/records?page=2>; rel="next"',
  },
  'Preference-Applied': {
    description:
      'Of a request with `Prefer: wait=N` that was held, or would have been, until there was a change (RFC 7240).',
    schema: text,
    example: 'wait=30',
  },
  'Ignored-Parameters': {
    description: 'The parameters that were sent and are not known, percent-encoded: at most ten names and 256 bytes.',
    schema: text,
    example: 'Limit',
  },
  'Retry-After': {
    description: 'Whole seconds after which asking again makes sense.',
    required: true,
    schema: seconds,
    example: 5,
  },
  'WWW-Authenticate': {
    description: '`Bearer`; with `error="invalid_token"` when a token was sent.',
    required: true,
    schema: text,
    example: 'Bearer error="invalid_token"',
  },
  Allow: { description: 'The methods there are.', required: true, schema: text, example: 'GET, HEAD, OPTIONS' },
} as const satisfies Readonly<Record<string, Header>>

export type HeaderName = keyof typeof headers

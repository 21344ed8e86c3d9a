import { errors } from '@elastic/transport'
import { type DestinationStream, type Logger, pino } from 'pino'

/** A log of JSON lines. Of an error it tells what went wrong where, and nothing of what was sent or stored. */
export const createLog = ({ name, level }: { name: string; level: string }, stream: DestinationStream): Logger =>
  pino({ level, base: { name }, serializers: { err: (error: unknown) => describeError(error) } }, stream)

type Described = Readonly<Record<string, unknown>>

/** Errors name one another, and may do so in a circle. */
const maxDepth = 4
/** Their messages quote the text that they are about. */
const quoting = new Set(['SyntaxError', 'SerializationError', 'DeserializationError'])

/** What went wrong, in one line, and nothing of what was sent, read or stored. */
export function summaryOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  if (error instanceof errors.ResponseError) {
    const body = error.body as { error?: unknown } | null | undefined
    return refusalOf(error.statusCode ?? 0, body?.error)
  }
  return quoting.has(error.name) ? `${error.name}, whose text may quote what was read` : error.message
}

/** How Elasticsearch refuses: status, kinds of error, and the field of a mapping. The rest of its reason may quote a document. */
export function refusalOf(status: number, error: unknown): string {
  const { type, reason, caused_by: cause } = (error ?? {}) as Refusal
  const [, field] = /^(?:\[\d+:\d+\] )?failed to parse field \[([\w.]+)\]/.exec(String(reason)) ?? []
  const parts = [`${status} ${kindOf(type) ?? 'without a reason'}`]
  if (field !== undefined) parts.push(`in ${field}`)
  const causeKind = kindOf(cause?.type)
  if (causeKind !== undefined) parts.push(`caused by ${causeKind}`)
  return parts.join(' ')
}

type Refusal = { readonly type?: unknown; readonly reason?: unknown; readonly caused_by?: { readonly type?: unknown } }

const kindOf = (type: unknown): string | undefined =>
  typeof type === 'string' && /^\w+$/.test(type) ? type : undefined

/**
 * What may be known of an error. Clients keep requests beside their errors: Redis a command's arguments, a password among them;
 * Elasticsearch bodies of requests and answers, in its messages too.
 */
export function describeError(error: unknown, depth = 0): Described {
  if (!(error instanceof Error)) return { type: typeof error }
  const code = 'code' in error ? error.code : undefined
  const inner = error instanceof AggregateError ? error.errors : []
  return {
    type: error.name,
    message: summaryOf(error),
    ...(typeof code === 'string' && { code }),
    stack: framesOf(error),
    ...(error.cause !== undefined && depth < maxDepth && { cause: describeError(error.cause, depth + 1) }),
    ...(inner.length > 0 && depth < maxDepth && { errors: inner.map((each) => describeError(each, depth + 1)) }),
  }
}

/** Its first lines repeat the message. */
const framesOf = ({ stack }: Error): string =>
  (stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n')

/** Text that is safe to print on a terminal: every control character becomes U+FFFD. */
export const printable = (text: string): string => text.replace(/\p{C}/gu, '\ufffd')

import { errors } from '@elastic/transport'
import { type DestinationStream, type Logger, pino } from 'pino'
import { escapeOf } from '../json/iJson.ts'

/** Logs errors without data that was sent or stored. */
export const createLog = ({ name, level }: { name: string; level: string }, stream: DestinationStream): Logger =>
  pino({ level, base: { name }, serializers: { err: (error: unknown) => describeError(error) } }, stream)

/** A chain of causes may be circular. */
const maxDepth = 4
/** Their messages quote the text that could not be parsed. */
const quotingErrors = new Set(['SyntaxError', 'SerializationError', 'DeserializationError'])

/** Without data that was sent, read or stored. */
export function summaryOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  if (error instanceof errors.ResponseError)
    return refusalOf(error.statusCode ?? 0, (error.body as { error?: unknown } | undefined)?.error)
  return quotingErrors.has(error.name) ? `${error.name}, whose text may quote what was read` : error.message
}

/** Status, error types and mapped field of an Elasticsearch error, without its reason, which may quote a document. */
export function refusalOf(status: number, error: unknown): string {
  const { type, reason, caused_by: cause } = (error ?? {}) as Refusal
  // Such as `[1:205] failed to parse field [summary.score] of type [double]`.
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

/** Clients attach data to errors: Redis the arguments of a command, such as a password; Elasticsearch the bodies of request and response, even in messages. */
function describeError(error: unknown, depth = 0): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { type: typeof error }
  const code = 'code' in error ? error.code : undefined
  const inner = error instanceof AggregateError ? error.errors : []
  return {
    type: error.name,
    message: summaryOf(error),
    ...(typeof code === 'string' && { code }),
    stack: framesOf(error),
    ...(error.cause !== undefined && depth < maxDepth && { cause: describeError(error.cause, depth + 1) }),
    ...(inner.length > 0 && depth < maxDepth && { errors: inner.map((part) => describeError(part, depth + 1)) }),
  }
}

/** The stack's first lines repeat the message. */
const framesOf = ({ stack = '' }: Error): string => (stack.match(/^[ \t]+at .*/gm) ?? []).join('\n')

const unprintable = /[\p{C}\p{Zl}\p{Zp}]/gu

/** One line, safe for a terminal: control characters become U+FFFD. */
export const printable = (text: string): string => text.replace(unprintable, '\ufffd')

/** JSON, safe for a terminal: control characters become escapes. */
export const jsonLine = (value: unknown): string =>
  `${JSON.stringify(value).replace(unprintable, (character) => character.split('').map(escapeOf).join(''))}\n`

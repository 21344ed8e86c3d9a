import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Logger } from 'pino'

/** Node limits URL and headers together. This is less, so that a long URL is not reported as long headers. */
export const maxUrlBytes = 8 * 1024

/** Reason why bytes are no valid HTTP request → status. */
export const statusOf = {
  timeout: 408,
  'long-url': 414,
  'long-headers': 431,
  'bad-url': 400,
  method: 405,
  host: 400,
  'no-http': 400,
} as const
export type ClientError = keyof typeof statusOf

type Headers = Readonly<Record<string, string>>

export type PlainAnswer = { readonly status: number; readonly headers: Headers; readonly body: string }

/** Makes the answer to bytes that are no valid request; then the connection is closed. */
export type Refuse = (reason: ClientError) => PlainAnswer

export const refusal = (status: number, headers: Headers, body: string): PlainAnswer => ({
  status,
  headers: { ...headers, 'Content-Length': String(Buffer.byteLength(body)), Connection: 'close' },
  body,
})

/** Logs each client error like a request. */
export const refuseAndLog =
  (log: Logger, headers: Headers, allow: string, bodyOf: (reason: ClientError) => string): Refuse =>
  (reason) => {
    const status = statusOf[reason]
    const requestId = randomUUID()
    log.info({ requestId, status }, 'request')
    const ownHeaders = { 'X-Request-Id': requestId, ...(status === 405 && { Allow: allow }) }
    return refusal(status, { ...headers, ...ownHeaders }, bodyOf(reason))
  }

/** As bytes of HTTP/1.1, for a connection without a response object. */
export function render({ status, headers, body }: PlainAnswer): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n')
}

type ParseError = Error & { readonly code?: string; readonly rawPacket?: Buffer; readonly bytesParsed?: number }

/** For Node's event `clientError`; undefined if the client closed the connection. */
export function reasonOf(error: ParseError): ClientError | undefined {
  const { code } = error
  if (code === 'ECONNRESET') return undefined
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'timeout'
  if (code === 'HPE_HEADER_OVERFLOW') return isUrlTooLong(error) ? 'long-url' : 'long-headers'
  if (code === 'HPE_INVALID_URL') return 'bad-url'
  return code === 'HPE_INVALID_METHOD' && isRequestLine(error) ? 'method' : 'no-http'
}

function isUrlTooLong({ rawPacket }: ParseError): boolean {
  const firstLine = rawPacket?.subarray(0, maxUrlBytes).toString('latin1') ?? ''
  return /^[A-Z]+ /.test(firstLine) && !firstLine.includes('\n')
}

/** Then only the method is unknown. */
function isRequestLine({ rawPacket, bytesParsed = 0 }: ParseError): boolean {
  if (rawPacket === undefined) return false
  const from = rawPacket.subarray(0, bytesParsed).lastIndexOf('\n') + 1
  const line = rawPacket.subarray(from, from + maxUrlBytes).toString('latin1')
  // Such as `PURGE /api/v1/forms HTTP/1.1`.
  return /^[!#$%&'*+.^_`|~\w-]+ \S+ HTTP\/1\.\d\r?\n/.test(line)
}

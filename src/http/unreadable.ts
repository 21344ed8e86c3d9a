import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import type { ParseError } from '../server.ts'
import { renderError } from './errors.ts'
import { answersDependOn, whoMayKeep } from './privateAnswers.ts'
import { maxUrlBytes } from './requestTarget.ts'
import { statuses } from './statuses.ts'

type Refusal = {
  readonly code: 'bad_request' | 'request_timeout' | 'uri_too_long' | 'headers_too_long'
  readonly message: string
}

/** Answers a request that Node's HTTP parser gave up on, in the shape of every other error, logs it and hangs up. */
export const refuseUnreadable =
  (log: Logger) =>
  (error: ParseError, socket: Duplex): void => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    const refusal = refusalOf(error)
    const requestId = randomUUID()
    log.info({ requestId, status: statuses[refusal.code] }, 'request')
    socket.end(renderRefusal(refusal, requestId))
  }

function renderRefusal({ code, message }: Refusal, requestId: string): string {
  const status = statuses[code]
  const body = renderError(code, message)
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `Cache-Control: ${whoMayKeep}`,
    `Vary: ${answersDependOn}`,
    `X-Request-Id: ${requestId}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}

function refusalOf({ code, rawPacket }: ParseError): Refusal {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return { code: 'request_timeout', message: 'the request took too long to arrive' }
  if (code === 'HPE_INVALID_URL') return { code: 'bad_request', message: 'the URL must be percent-encoded' }
  if (code !== 'HPE_HEADER_OVERFLOW') return { code: 'bad_request', message: 'this is not HTTP' }
  return isUrlTooLong(rawPacket)
    ? { code: 'uri_too_long', message: 'the URL is too long' }
    : { code: 'headers_too_long', message: 'the headers are too long' }
}

/** Whether the packet begins with a request line that takes more than a URL may. */
function isUrlTooLong(packet: Buffer | undefined): boolean {
  const firstLine = packet?.subarray(0, maxUrlBytes).toString('latin1') ?? ''
  return /^[A-Z]+ /.test(firstLine) && !firstLine.includes('\n')
}

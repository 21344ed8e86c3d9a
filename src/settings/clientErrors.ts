import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Logger } from 'pino'
import { type Refuse, refusal, statusOf } from '../core/process/clientErrors.ts'
import { securityHeaders } from './headers.ts'

/** Answers what never becomes a request, and logs it. No browser sends such a thing. */
export const answerClientError =
  (log: Logger): Refuse =>
  (reason) => {
    const requestId = randomUUID()
    const status = statusOf[reason]
    log.info({ requestId, status }, 'request')
    const headers = {
      ...securityHeaders,
      'Content-Type': 'text/plain; charset=utf-8',
      'X-Request-Id': requestId,
      ...(status === 405 && { Allow: 'GET, HEAD, POST' }),
    }
    return refusal(status, headers, `${STATUS_CODES[status]}\n`)
  }

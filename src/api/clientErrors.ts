import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { type ClientError, type Refuse, refusal } from '../core/process/clientErrors.ts'
import { errorStatuses, renderError } from './errors.ts'
import { privateCacheControl, varyHeader } from './respond.ts'
import { allowedMethods } from './routes.ts'

type ErrorAnswer = { readonly code: keyof typeof errorStatuses; readonly message: string }

const errorAnswers: Readonly<Record<ClientError, ErrorAnswer>> = {
  timeout: { code: 'request_timeout', message: 'the request took too long to arrive' },
  'long-url': { code: 'uri_too_long', message: 'the URL is too long' },
  'long-headers': { code: 'headers_too_long', message: 'the headers are too long' },
  'bad-url': { code: 'bad_request', message: 'the URL must be percent-encoded' },
  method: { code: 'method_not_allowed', message: `only ${allowedMethods} are supported` },
  host: {
    code: 'bad_request',
    message: 'there must be exactly one Host header: a host, with its port or without',
  },
  'no-http': { code: 'bad_request', message: 'this is not HTTP/1.1' },
}

/** Answers and logs requests that Node's HTTP parser rejects, in the same format as every other error. */
export const answerClientError =
  (log: Logger): Refuse =>
  (reason) => {
    const { code, message } = errorAnswers[reason]
    const requestId = randomUUID()
    log.info({ requestId, status: errorStatuses[code] }, 'request')
    const headers = {
      'Content-Type': 'application/json; charset=utf-8',
      'Cache-Control': privateCacheControl,
      Vary: varyHeader,
      'X-Request-Id': requestId,
      ...(code === 'method_not_allowed' && { Allow: allowedMethods }),
    }
    return refusal(errorStatuses[code], headers, renderError(code, message))
  }

import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { type ClientError, type Refuse, refusal } from '../core/process/clientErrors.ts'
import { renderError } from './errors.ts'
import { allowedMethods } from './methods.ts'
import { privateCacheControl, varyHeader } from './privateAnswers.ts'
import { statuses } from './statuses.ts'

type Told = { readonly code: keyof typeof statuses; readonly message: string }

const told: Readonly<Record<ClientError, Told>> = {
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

/** Answers what never becomes a request in the shape of every other error, and logs it. */
export const answerClientError =
  (log: Logger): Refuse =>
  (reason) => {
    const { code, message } = told[reason]
    const requestId = randomUUID()
    log.info({ requestId, status: statuses[code] }, 'request')
    const headers = {
      'Content-Type': 'application/json; charset=utf-8',
      'Cache-Control': privateCacheControl,
      Vary: varyHeader,
      'X-Request-Id': requestId,
      ...(code === 'method_not_allowed' && { Allow: allowedMethods }),
    }
    return refusal(statuses[code], headers, renderError(code, message))
  }

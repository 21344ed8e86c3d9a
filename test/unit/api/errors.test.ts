import { Readable, Writable } from 'node:stream'
import { jest } from '@jest/globals'
import Koa from 'koa'
import type { Logger } from 'pino'
import { Registry } from 'prom-client'
import type { ApiState } from '../../../src/api/context.ts'
import { answerClientError, errors } from '../../../src/api/errors.ts'
import { createLog } from '../../../src/core/process/log.ts'
import { observeRequests, requestMetrics } from '../../../src/core/process/requestLog.ts'
import { startLocalServer } from '../../support/localServer.ts'

test.each([
  ['timeout', 408, 'request_timeout'],
  ['long-url', 414, 'uri_too_long'],
  ['long-headers', 431, 'headers_too_long'],
  ['method', 405, 'method_not_allowed'],
  ['bad-url', 400, 'bad_request'],
  ['host', 400, 'bad_request'],
  ['no-http', 400, 'bad_request'],
] as const)('what never becomes a request, for %s, is answered %i, and logged with its id', (reason, status, code) => {
  const logged = jest.fn()
  const answer = answerClientError({ info: logged } as unknown as Logger)(reason)
  expect([answer.status, JSON.parse(answer.body)]).toEqual([status, { error: { code, message: expect.any(String) } }])
  expect(logged).toHaveBeenCalledWith({ requestId: answer.headers['X-Request-Id'], status }, 'request')
})

test('what fails when the answer was ready says nothing of that answer', async () => {
  const lines: Record<string, unknown>[] = []
  const sink = new Writable({
    write: (chunk, _encoding, done) => {
      lines.push(JSON.parse(String(chunk)) as Record<string, unknown>)
      done()
    },
  })
  const log = createLog({ name: 'test', level: 'info' }, sink)
  const app = new Koa<ApiState>()
    .use(observeRequests<ApiState>(log, requestMetrics(new Registry(), []), () => ({})))
    .use(errors(log, () => undefined))
    .use((ctx) => {
      ctx.body = Readable.from(['row\n'])
      ctx.set({ RateLimit: '"key";r=1;t=1', 'Content-Encoding': 'gzip', ETag: 'W/"1"', 'X-Accel-Buffering': 'no' })
      throw new TypeError('the compressor has failed')
    })
  const { url, close } = await startLocalServer(app.callback())
  const answer = await fetch(url)
  const { error } = (await answer.json()) as { error: { code: string } }
  await close()
  expect([answer.status, error.code]).toEqual([500, 'internal_error'])
  const names = ['ratelimit', 'content-type', 'content-encoding', 'etag', 'x-accel-buffering']
  const [limit, type, ...others] = names.map((name) => answer.headers.get(name))
  expect([limit, type, others]).toEqual(['"key";r=1;t=1', 'application/json; charset=utf-8', [null, null, null]])
  const requestId = answer.headers.get('x-request-id')
  expect(lines).toContainEqual(expect.objectContaining({ requestId, msg: 'internal error' }))
})

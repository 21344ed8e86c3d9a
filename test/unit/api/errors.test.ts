import { Readable, Writable } from 'node:stream'
import { jest } from '@jest/globals'
import Koa from 'koa'
import type { Logger } from 'pino'
import { Registry } from 'prom-client'
import type { ApiState } from '../../../src/api/context.ts'
import { answerClientError, errors } from '../../../src/api/errors.ts'
import { observeRequests, requestMetrics } from '../../../src/core/http/requestLog.ts'
import { createLog } from '../../../src/core/monitoring/log.ts'
import { startLocalServer } from '../../support/localServer.ts'

test('a request whose headers arrive too slowly is answered 408, and logged with its id', () => {
  const logged = jest.fn()
  const { status, headers, body } = answerClientError({ info: logged } as unknown as Logger)('timeout')
  const error = { code: 'request_timeout', message: expect.any(String) }
  expect([status, JSON.parse(body)]).toEqual([408, { error }])
  expect(logged).toHaveBeenCalledWith({ requestId: headers['X-Request-Id'], status }, 'request')
})

test('an error after an answer was prepared is sent without the headers of that answer', async () => {
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

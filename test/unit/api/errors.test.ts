import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { Readable, Writable } from 'node:stream'
import Koa from 'koa'
import type { ApiContext, ApiState } from '../../../src/api/context.ts'
import { apiError, errors } from '../../../src/api/errors.ts'
import { ElasticsearchUnavailable } from '../../../src/api/search/searchClient.ts'
import { createLog } from '../../../src/core/process/log.ts'
import { requestLog } from '../../../src/core/process/requestLog.ts'
import { AccountKeysIncomplete } from '../../../src/core/stores/accountKeyStore.ts'
import { RedisUnavailable } from '../../../src/core/stores/redis.ts'

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
    .use(requestLog<ApiState>(log, () => ({})))
    .use(errors(log, () => undefined))
    .use((ctx) => {
      ctx.body = Readable.from(['row\n'])
      ctx.set({ RateLimit: '"key";r=1;t=1', 'Content-Encoding': 'gzip', ETag: 'W/"1"', 'X-Accel-Buffering': 'no' })
      throw new TypeError('the compressor has failed')
    })
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  const { error } = (await answer.json()) as { error: { code: string } }
  server.close()
  expect([answer.status, error.code]).toEqual([500, 'internal_error'])
  const names = ['ratelimit', 'content-type', 'content-encoding', 'etag', 'x-accel-buffering']
  expect(names.map((name) => answer.headers.get(name))).toEqual([
    '"key";r=1;t=1',
    'application/json; charset=utf-8',
    null,
    null,
    null,
  ])
  const requestId = answer.headers.get('x-request-id')
  expect(lines).toContainEqual(expect.objectContaining({ requestId, msg: 'internal error' }))
})

async function answerTo(thrown: unknown) {
  const sent = { headers: {}, rejections: [] as string[] }
  const fields = { writable: true, state: {}, remove: () => undefined }
  const set = (headers: object): unknown => Object.assign(sent.headers, headers)
  const ctx = { ...fields, set, status: 404, body: '' }
  const log = createLog({ name: 'test', level: 'silent' }, { write: () => undefined })
  const answer = errors(log, (reason) => sent.rejections.push(reason))
  await answer(ctx as unknown as ApiContext, async () => {
    throw thrown
  })
  const { error } = JSON.parse(ctx.body) as { error: { code: string } }
  return { ...sent, status: ctx.status, code: error.code }
}

describe('the answer to', () => {
  test('an API error has its status and code', async () => {
    const answer = await answerTo(apiError('not_found', 'no such form'))
    expect(answer).toEqual({ status: 404, code: 'not_found', headers: {}, rejections: [] })
  })

  test.each([
    ['elasticsearch', new ElasticsearchUnavailable('deadline', 'x')],
    ['redis', new RedisUnavailable(new Error('x'))],
    ['account_keys', new AccountKeysIncomplete()],
  ])('an outage of %s', async (rejection, cause) => {
    const headers = { 'Retry-After': '5' }
    const expected = { status: 503, code: 'service_unavailable', headers, rejections: [rejection] }
    expect(await answerTo(cause)).toEqual(expected)
  })

  test.each([new TypeError('x'), 'text', undefined, null, { status: 404 }])('%p, a bug', async (cause) => {
    expect(await answerTo(cause)).toEqual({ status: 500, code: 'internal_error', headers: {}, rejections: [] })
  })
})

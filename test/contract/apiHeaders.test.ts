import { type TeamId, teamList } from '../../src/core/model/ids.ts'
import type { Instant } from '../../src/core/model/instant.ts'
import type { TestAnswer, TestRequest } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { useApi } from '../support/useApi.ts'

const team = 'team-1'
const minute = 1_000

const api = useApi({
  watermark: '2026-11-21T10:00:00.123Z' as Instant,
  settings: { RATE_LIMIT_PER_MINUTE: String(minute) },
})
beforeEach(() => api.replica.endMinutes())

const send = (target: string, request: TestRequest = {}) => api.send(target, request)

const authenticated: [string, number, () => Promise<TestAnswer>][] = [
  ['a page', 200, () => send('/api/v1/forms', { key: api.key })],
  ['HEAD', 200, () => send('/api/v1/records/', { key: api.key, method: 'HEAD' })],
  ['nothing changed', 304, () => send('/api/v1/forms', { key: api.key, headers: { 'if-none-match': '*' } })],
  ['a parameter that breaks its rule', 400, () => send('/api/v1/forms?limit=0', { key: api.key })],
  ['nothing under an id', 404, () => send('/api/v1/records/unknown', { key: api.key })],
  ['an unknown route', 404, () => send('/api/v1/unknown', { key: api.key })],
  ['another method', 405, () => send('/api/v1/forms', { key: api.key, method: 'DELETE' })],
  ['a bug', 500, () => whileMisled('/api/v1/forms')],
  ['an index that is not there', 503, () => whileMissing('/api/v1/records')],
]
const others: [string, number, () => Promise<TestAnswer>][] = [
  ['OPTIONS', 204, () => send('/api/v1/forms', { key: api.key, method: 'OPTIONS' })],
  ['no key', 401, () => send('/api/v1/forms')],
  ['a bad key', 401, () => send('/api/v1/forms', { key: 'rqp_acct_unknown' })],
  ['a long URL', 414, () => send(`/api/v1/forms?titleContains=${'a'.repeat(9_000)}`, { key: api.key })],
  [
    'a URL that is longer still',
    414,
    () => send(`/api/v1/forms?titleContains=${'a'.repeat(40_000)}`, { key: api.key }),
  ],
  ['long headers', 431, () => send('/api/v1/forms', { key: api.key, headers: { cookie: 'a'.repeat(40_000) } })],
]

async function whileMisled(target: string): Promise<TestAnswer> {
  await api.replica.misleadAlias('forms')
  await api.replica.replaceChangeToken(teamList('forms', team as TeamId))
  const answer = await send(target, { key: api.key })
  await api.replica.restoreAlias('forms')
  return answer
}

async function whileMissing(target: string): Promise<TestAnswer> {
  await api.replica.dropAlias('submissions')
  await api.replica.replaceChangeToken(teamList('submissions', team as TeamId))
  const answer = await send(target, { key: api.key })
  await api.replica.restoreAlias('submissions')
  return answer
}

const expectError = ({ headers, json }: TestAnswer): void => {
  expect(headers['content-type']).toBe('application/json; charset=utf-8')
  expect(json).toEqual({ error: { code: expect.stringMatching(/^[a-z_]+$/), message: expect.any(String) } })
}

describe('every answer', () => {
  test.each([...authenticated, ...others])(
    '%s, %i: is private, varies, and has a request id that its log line carries',
    async (_what, status, ask) => {
      const answer = await ask()
      expect(answer.status).toBe(status)
      expect(answer.headers).toMatchObject({
        'cache-control': 'private, no-cache',
        vary: 'Authorization, Accept, Accept-Encoding',
        'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      })
      expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
      const line = () =>
        api.logLines.find(({ requestId, msg }) => requestId === answer.headers['x-request-id'] && msg === 'request')
      await eventually(() => line() !== undefined)
      expect(line()).toMatchObject({ status })
      if (status >= 400) expectError(answer)
    },
  )
})

describe('every authenticated answer', () => {
  test.each(authenticated)('%s, %i: tells the limit, and costs one of it', async (_what, status, ask) => {
    for (const left of [minute - 1, minute - 2]) {
      const answer = await ask()
      expect(answer.status).toBe(status)
      expect(answer.headers).toMatchObject({
        'ratelimit-policy': `"key";q=${minute};w=60`,
        ratelimit: expect.stringMatching(new RegExp(`^"key";r=${left};t=\\d+$`)),
      })
    }
  })
})

test.each(others)('%s, %i: costs nothing and says nothing of limits', async (_what, _status, ask) => {
  const { headers } = await ask()
  expect([headers['ratelimit'], headers['ratelimit-policy']]).toEqual([undefined, undefined])
  expect((await send('/api/v1/forms', { key: api.key })).headers['ratelimit']).toContain(`r=${minute - 1};`)
})

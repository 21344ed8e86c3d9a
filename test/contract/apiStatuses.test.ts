import { type TestAnswer, useApi } from '../support/api.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'
import { sendRaw } from '../support/raw.ts'

const endpoints = [
  ...['/api/v1/forms', '/api/v1/forms/one', '/api/v1/records', '/api/v1/records/one'],
  ...['/api/v1/form-changes', '/api/v1/record-changes'],
]
const team = 'team-1'

const api = useApi({
  forms: [{ team, id: 'one', entity: formEntity({ id: 'one' }) }],
  submissions: [{ team, id: 'one', entity: submissionEntity({ id: 'one' }) }],
  watermark: '2026-11-21T10:00:00.000Z',
})

const expectError = ({ status, headers, json }: TestAnswer, expected: number, code: string): void => {
  expect(status).toBe(expected)
  expect(headers['content-type']).toBe('application/json; charset=utf-8')
  expect(json).toEqual({ error: { code, message: expect.any(String) } })
}

test.each([
  ...['/', '/api', '/api/v1', '/api/v2/forms', '/forms', '/api/v1/Forms', '/API/v1/forms', '/api/v1/forms/a/b'],
  ...['//api/v1/forms', '/api//v1/forms', '/api/v1/../v1/forms', '/%', '/%ZZ', '/api/v1/%66orms', '*'],
])('the unknown route %s is not normalised, and gives 404 with a key', async (target) => {
  expectError(await api.get(target), 404, 'not_found')
})

describe.each(endpoints)('%s', (endpoint) => {
  test('answers with a trailing slash, too', async () => {
    const [plain, slashed] = await Promise.all([api.get(endpoint), api.get(`${endpoint}/`)])
    expect(slashed.status).toBe(200)
    // A cursor is sealed to another text each time.
    const withoutCursor = ({ text }: TestAnswer): string => text.replace(/"cursor":"[^"]*"/, '')
    expect(withoutCursor(slashed)).toBe(withoutCursor(plain))
  })

  test('answers to the absolute form of its URL, too', async () => {
    expect((await api.get(`http://example.com${endpoint}`)).status).toBe(200)
  })

  test('OPTIONS gives 204 with Allow, without a key', async () => {
    for (const sentKey of [undefined, api.key]) {
      const request = sentKey === undefined ? {} : { key: sentKey }
      const { status, headers, text } = await api.send(endpoint, { method: 'OPTIONS', ...request })
      expect(status).toBe(204)
      expect(headers['allow']).toBe('GET, HEAD, OPTIONS')
      expect(text).toBe('')
    }
  })

  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'QUERY', 'PURGE'])(
    '%s gives 405 with Allow',
    async (method) => {
      for (const target of [endpoint, `${endpoint}/`]) {
        const answer = await api.get(target, { method })
        expectError(answer, 405, 'method_not_allowed')
        expect(answer.headers['allow']).toBe('GET, HEAD, OPTIONS')
      }
    },
  )
})

test.each([
  ['OPTIONS before key', '/api/v1/forms', 'OPTIONS', 'rqp_acct_unknown', 204],
  ['OPTIONS before route', '/unknown', 'OPTIONS', undefined, 204],
  ['key before route', '/unknown', 'GET', undefined, 401],
  ['key before method', '/api/v1/forms', 'POST', undefined, 401],
  ['key before parameters', '/api/v1/forms?limit=0', 'GET', 'rqp_acct_unknown', 401],
  ['route before method', '/unknown', 'POST', 'good', 404],
  ['method before parameters', '/api/v1/forms?limit=0', 'POST', 'good', 405],
  ['parameters before the look-up', '/api/v1/forms/unknown?includeFields=x', 'GET', 'good', 400],
])('a request is checked in this order: %s', async (_order, target, method, sent, expected) => {
  const sentKey = sent === 'good' ? api.key : sent
  const { status } = await api.send(target, { method, ...(sentKey !== undefined && { key: sentKey }) })
  expect(status).toBe(expected)
})

test('a request body changes nothing', async () => {
  const head = `GET /api/v1/forms HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.key}\r\nConnection: close\r\n`
  const read = await sendRaw(api.port, `${head}Content-Length: 11\r\n\r\n{"limit":0}`)
  expect(read).toMatch(/^HTTP\/1\.1 200 .*"limit":20/s)
})

test('an unknown value of Expect changes nothing', async () => {
  expect((await api.get('/api/v1/forms', { headers: { expect: 'a miracle' } })).status).toBe(200)
})

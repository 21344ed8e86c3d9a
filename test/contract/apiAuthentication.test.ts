import { type TestAnswer, useApi } from '../support/api.ts'

const forms = '/api/v1/forms'
const expiresAt = '2026-11-21T10:00:00.000Z'
let nowMs = Date.parse('2026-11-21T00:00:00Z')
const api = useApi({ nowMs: () => nowMs })

const expectUnauthorized = ({ status, headers, json }: TestAnswer, challenge: string): void => {
  expect(status).toBe(401)
  expect(json).toEqual({ error: { code: 'unauthorized', message: expect.any(String) } })
  expect(headers['www-authenticate']).toBe(challenge)
}
const invalidToken = 'Bearer error="invalid_token"'

test.each(['Bearer', 'bearer', 'BEARER'])('the Authorization scheme may be written %s', async (scheme) => {
  expect((await api.send(forms, { headers: { authorization: `${scheme} ${api.key}` } })).status).toBe(200)
})

test.each([
  ['a personal token', () => 'Bearer rqp_live_0123456789', invalidToken],
  ['an unknown key', () => 'Bearer rqp_acct_unknown', invalidToken],
  ['another scheme', () => `Basic ${api.key}`, 'Bearer'],
  ['no scheme', () => api.key, 'Bearer'],
  ['no token', () => 'Bearer', 'Bearer'],
  ['an empty token', () => 'Bearer  ', 'Bearer'],
  ['a key with text behind it', () => `Bearer ${api.key} x`, invalidToken],
  ['a key in other letter case', () => `Bearer ${api.key.toUpperCase()}`, invalidToken],
  ['two keys', () => `Bearer ${api.key},${api.key}`, invalidToken],
  ['the prefix alone', () => 'Bearer rqp_acct_', invalidToken],
  ['a very long key', () => `Bearer rqp_acct_${'x'.repeat(10_000)}`, invalidToken],
])('%s gives 401', async (_what, authorization, challenge) => {
  expectUnauthorized(await api.send(forms, { headers: { authorization: authorization() } }), challenge)
})

test('a request with its key anywhere but in the Authorization header gets 401', async () => {
  expectUnauthorized(await api.send(forms, { headers: { 'x-api-key': api.key } }), 'Bearer')
  const query = ['key', 'access_token', 'Authorization'].map((name) => `${name}=${api.key}`).join('&')
  const feeds = ['/api/v1/form-changes', '/api/v1/record-changes']
  for (const path of [forms, `${forms}/a`, '/api/v1/records', '/api/v1/records/a', '/api/v1/record-counts', ...feeds])
    expectUnauthorized(await api.send(`${path}?${query}`), 'Bearer')
})

test('a key stops working at its instant of expiry', async () => {
  const key = await api.replica.storeKey('team-1', { id: 'expiring', expiresAt })
  nowMs = Date.parse(expiresAt) - 1
  expect((await api.send(forms, { key })).status).toBe(200)
  nowMs = Date.parse(expiresAt)
  expectUnauthorized(await api.send(forms, { key }), invalidToken)
})

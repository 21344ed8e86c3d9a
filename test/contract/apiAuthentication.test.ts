import type { TestAnswer, TestRequest } from '../support/api.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'
import { useApi } from '../support/useApi.ts'

const endpoints = ['/api/v1/forms', '/api/v1/forms/shared', '/api/v1/records', '/api/v1/records/shared']
const expiresAt = '2026-11-21T10:00:00.000Z'

const teams = ['team-1', 'team-2']
let nowMs = Date.parse('2026-11-21T00:00:00Z')
const api = useApi({
  teams,
  forms: teams.flatMap((team) => [
    { team, id: 'shared', entity: formEntity({ id: 'shared', title: `Of ${team}` }) },
    { team, id: `of-${team}`, entity: formEntity({ id: `of-${team}` }) },
  ]),
  submissions: teams.flatMap((team) => [
    { team, id: 'shared', entity: submissionEntity({ id: 'shared', formId: `of-${team}` }) },
    { team, id: `of-${team}`, entity: submissionEntity({ id: `of-${team}` }) },
  ]),
  nowMs: () => nowMs,
})

const expectUnauthorized = ({ status, headers, json }: TestAnswer, challenge: string): void => {
  expect(status).toBe(401)
  expect(json).toEqual({ error: { code: 'unauthorized', message: expect.any(String) } })
  expect(headers['www-authenticate']).toBe(challenge)
}
const invalidToken = 'Bearer error="invalid_token"'

const statusWith = async (sentKey: string): Promise<number> =>
  (await api.send('/api/v1/forms', { key: sentKey })).status

describe.each(endpoints)('%s', (endpoint) => {
  test('1. an account key in the Authorization header is accepted', async () => {
    expect((await api.get(endpoint)).status).toBe(200)
  })

  test.each([
    ['3. a personal token (rqp_live_)', 'rqp_live_0123456789', '', invalidToken],
    ['4. an unknown key', 'rqp_acct_unknown', '', invalidToken],
    ['4. a missing key', undefined, '', 'Bearer'],
    ['a key in the query string', undefined, '?key=KEY&access_token=KEY&Authorization=KEY', 'Bearer'],
  ])('%s gives 401', async (_what, sent, query, challenge) => {
    const target = `${endpoint}${query.replaceAll('KEY', api.key)}`
    expectUnauthorized(await api.send(target, sent === undefined ? {} : { key: sent }), challenge)
  })
})

describe('1. the Authorization header', () => {
  const send = (authorization: string, more: TestRequest['headers'] = {}): Promise<TestAnswer> =>
    api.send('/api/v1/forms', { headers: { authorization, ...more } })

  test.each(['Bearer', 'bearer', 'BEARER'])('the scheme %s is read in any letter case', async (scheme) => {
    expect((await send(`${scheme} ${api.key}`)).status).toBe(200)
  })

  test.each([
    ['another scheme', () => `Basic ${api.key}`, 'Bearer'],
    ['no scheme', () => api.key, 'Bearer'],
    ['no token', () => 'Bearer', 'Bearer'],
    ['an empty token', () => 'Bearer  ', 'Bearer'],
    ['any other text', () => 'Bearer 12345', invalidToken],
    ['a key with text behind it', () => `Bearer ${api.key} x`, invalidToken],
    ['a key in other letter case', () => `Bearer ${api.key.toUpperCase()}`, invalidToken],
    ['two keys', () => `Bearer ${api.key},${api.key}`, invalidToken],
    ['the prefix alone', () => 'Bearer rqp_acct_', invalidToken],
    ['a very long key', () => `Bearer rqp_acct_${'x'.repeat(10_000)}`, invalidToken],
  ])('4. %s gives 401', async (_what, header, challenge) => {
    expectUnauthorized(await send(header()), challenge)
  })

  test('4. a key in another header gives 401', async () => {
    expectUnauthorized(await api.send('/api/v1/forms', { headers: { 'x-api-key': api.key } }), 'Bearer')
  })
})

test('a revoked or deleted key stops working at once, and an expiring one at its instant of expiry', async () => {
  const [revoked, deleted] = [
    await api.replica.storeKey('team-1', { id: 'revoked' }),
    await api.replica.storeKey('team-1', { id: 'deleted' }),
  ]
  expect([await statusWith(revoked), await statusWith(deleted)]).toEqual([200, 200])
  await api.replica.storeKey('team-1', { id: 'revoked', plaintext: revoked, state: 'revoked', revision: 2 })
  await api.replica.deleteKey('team-1', 'deleted')
  const expiring = await api.replica.storeKey('team-1', { id: 'expiring', expiresAt })
  nowMs = Date.parse(expiresAt) - 1
  expect(await statusWith(expiring)).toBe(200)
  nowMs = Date.parse(expiresAt)
  for (const key of [revoked, deleted, expiring])
    expectUnauthorized(await api.send('/api/v1/forms', { key }), invalidToken)
})

test('no key, digest or header reaches the log', async () => {
  await api.get(`/api/v1/forms/${api.key}?key=${api.key}`, { headers: { 'x-api-key': api.key } })
  await api.send('/api/v1/forms', { key: 'rqp_acct_unknown' })
  expect(JSON.stringify(api.logLines)).not.toMatch(/rqp_|Bearer|[0-9a-f]{64}/)
})

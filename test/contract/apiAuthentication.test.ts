import { digestOf } from '../../src/core/model/accountKey.ts'
import type { TestAnswer, TestRequest } from '../support/api.ts'
import { closing } from '../support/closing.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'
import { monitorRedis } from '../support/monitorRedis.ts'
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
const close = closing()

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

  test('3. a personal token (rqp_live_) gives 401', async () => {
    expectUnauthorized(await api.send(endpoint, { key: 'rqp_live_0123456789' }), invalidToken)
  })

  test('4. a missing key gives 401', async () => {
    expectUnauthorized(await api.send(endpoint), 'Bearer')
  })

  test('4. an unknown key gives 401', async () => {
    expectUnauthorized(await api.send(endpoint, { key: 'rqp_acct_unknown' }), invalidToken)
  })

  test('a key in the query string gives 401', async () => {
    expectUnauthorized(
      await api.send(`${endpoint}?key=${api.key}&access_token=${api.key}&Authorization=${api.key}`),
      'Bearer',
    )
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

describe('2. the key reads as its team', () => {
  const idsFor = async (target: string, sentKey: string): Promise<string[]> => {
    const { json } = await api.send(target, { key: sentKey })
    return (json as { items: { id: string }[] }).items.map(({ id }) => id).toSorted()
  }

  test('all forms and submissions of that team, whoever created the key', async () => {
    for (const list of ['/api/v1/forms', '/api/v1/records']) {
      expect(await idsFor(list, api.key)).toEqual(['of-team-1', 'shared'])
      expect(await idsFor(list, api.keyOf('team-2'))).toEqual(['of-team-2', 'shared'])
    }
  })

  test('nothing of other teams, not even under the same id', async () => {
    expect((await api.get('/api/v1/forms/shared')).json).toMatchObject({ title: 'Of team-1' })
    expect((await api.send('/api/v1/forms/shared', { key: api.keyOf('team-2') })).json).toMatchObject({
      title: 'Of team-2',
    })
    expect((await api.send('/api/v1/records/shared', { key: api.keyOf('team-2') })).json).toMatchObject({
      formId: 'of-team-2',
    })
    expect((await api.get('/api/v1/forms/of-team-2')).status).toBe(404)
    expect((await api.get('/api/v1/records/of-team-2')).status).toBe(404)
    expect(await idsFor('/api/v1/records?formId=of-team-2', api.key)).toEqual([])
  })
})

describe('the account key lifecycle', () => {
  test('created: an active key is accepted', async () => {
    expect(await statusWith(await api.replica.storeKey('team-1', { id: 'fresh' }))).toBe(200)
  })

  test('7. revoked: the key stops working at once', async () => {
    const revoked = await api.replica.storeKey('team-1', { id: 'revoked' })
    expect(await statusWith(revoked)).toBe(200)
    await api.replica.storeKey('team-1', { id: 'revoked', plaintext: revoked, state: 'revoked', revision: 2 })
    expectUnauthorized(await api.send('/api/v1/forms', { key: revoked }), invalidToken)
  })

  test('revoking one key leaves the others of the team', async () => {
    expect(await statusWith(api.key)).toBe(200)
  })

  test('deleted from active: the key stops working at once', async () => {
    const deleted = await api.replica.storeKey('team-1', { id: 'deleted' })
    await api.replica.deleteKey('team-1', 'deleted')
    expectUnauthorized(await api.send('/api/v1/forms', { key: deleted }), invalidToken)
  })

  test('deleted from revoked: the key stays refused', async () => {
    const deleted = await api.replica.storeKey('team-1', { id: 'deleted-2', state: 'revoked' })
    await api.replica.deleteKey('team-1', 'deleted-2')
    expectUnauthorized(await api.send('/api/v1/forms', { key: deleted }), invalidToken)
  })

  test('4. expired: the key stops working at its instant of expiry', async () => {
    const expiring = await api.replica.storeKey('team-1', { id: 'expiring', expiresAt })
    nowMs = Date.parse(expiresAt) - 1
    expect(await statusWith(expiring)).toBe(200)
    nowMs = Date.parse(expiresAt)
    expectUnauthorized(await api.send('/api/v1/forms', { key: expiring }), invalidToken)
  })

  test.each([
    ['GET', '/api/v1/keys', 404],
    ['POST', '/api/v1/keys', 404],
    ['DELETE', '/api/v1/keys/key-1', 404],
    ['POST', '/api/v1/forms', 405],
    ['PUT', '/api/v1/forms/shared', 405],
    ['PATCH', '/api/v1/records/shared', 405],
    ['DELETE', '/api/v1/records/shared', 405],
  ])('5. no endpoint manages keys or changes data: %s %s gives %i', async (method, target, expected) => {
    expect((await api.get(target, { method })).status).toBe(expected)
    expect(await statusWith(api.key)).toBe(200)
  })

  test('6. no answer shows a key', async () => {
    for (const endpoint of endpoints) expect((await api.get(endpoint)).text).not.toContain('rqp_acct_')
  })
})

test('a flood of bad keys gets 401 each, while a good key is answered', async () => {
  const bad = Array.from({ length: 300 }, (_, index) => statusWith(`rqp_acct_bad-${index}`))
  const good = Array.from({ length: 20 }, () => statusWith(api.key))
  expect(new Set(await Promise.all(bad))).toEqual(new Set([401]))
  expect(new Set(await Promise.all(good))).toEqual(new Set([200]))
})

test('a bad key costs one look-up, and what cannot be a key none', async () => {
  const monitor = close(await monitorRedis(process.env['REDIS_URL'] ?? ''))
  await statusWith('rqp_acct_bad')
  await statusWith('rqp_live_bad')
  const lookups = (await monitor.commandsSoFar()).filter((command) => command.includes(api.replica.prefix))
  expect(lookups).toEqual([expect.stringContaining(digestOf('rqp_acct_bad'))])
})

test('no key, digest or header reaches the log', async () => {
  await api.get(`/api/v1/forms/${api.key}?key=${api.key}`, { headers: { 'x-api-key': api.key } })
  await api.send('/api/v1/forms', { key: 'rqp_acct_unknown' })
  expect(JSON.stringify(api.logLines)).not.toMatch(/rqp_|Bearer|[0-9a-f]{64}/)
})

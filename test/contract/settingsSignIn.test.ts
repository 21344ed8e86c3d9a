import { createHash, generateKeyPairSync, randomUUID } from 'node:crypto'
import { exportJWK } from 'jose'
import { closing } from '../support/closing.ts'
import { useStarted } from '../support/lifecycle.ts'
import { startLocalServer } from '../support/localServer.ts'
import { type SettingsAnswer, startTestSettings, useSettings, type Visitor } from '../support/settings.ts'
import { type Claims, signInClaims, signInSecret, signToken, unsignedToken } from '../support/signIns.ts'

const { names, area } = useSettings(() => ({ SIGN_IN_PAGE: 'https://quiz.example/keys?from=settings' }))
const close = closing()

const follow = (token: string, to = area): Promise<SettingsAnswer> =>
  to.visitor().get(`/sign-in?token=${encodeURIComponent(token)}`)
const expectRefused = (answer: SettingsAnswer, title: string): void => {
  expect([answer.status, answer.cookies]).toEqual([403, []])
  expect(answer.text).toContain(`<h1>${title}</h1>`)
  expect(answer.headers['referrer-policy']).toBe('no-referrer')
}
const notValid = 'This link is not valid'
const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1_000) + seconds

test('a valid link leads to the keys of its team, with a session cookie that scripts and other sites cannot read', async () => {
  const visitor = area.visitor()
  const answer = await visitor.get(`/sign-in?token=${await signToken(signInClaims(Date.now(), { team: 'a.b:c' }))}`, {
    origin: 'https://quiz.example',
    'sec-fetch-site': 'cross-site',
  })
  expect([answer.status, answer.headers['location']]).toEqual([303, './keys'])
  expect(answer.cookies).toEqual([
    expect.stringMatching(/^tidemark-session=[A-Za-z0-9_-]{43}; path=\/; samesite=lax; httponly$/),
  ])
  const page = await visitor.get('/keys')
  expect(page.status).toBe(200)
  expect(page.text).toContain('Team a.b:c')
})

test('over HTTPS the cookie is Secure and has the prefix __Host-', async () => {
  const secure = close(await startTestSettings({ ...names, SETTINGS_URL: 'https://settings.example' }))
  const { cookies } = await follow(await signToken(signInClaims(Date.now())), secure)
  expect(cookies).toEqual([
    expect.stringMatching(/^__Host-tidemark-session=.{43}; path=\/; samesite=lax; secure; httponly$/),
  ])
})

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex')
const idOf = (visitor: Visitor): string => visitor.jar.get('tidemark-session') ?? ''
const keyOf = (visitor: Visitor): string => area.redisKeys.session(digestOf(idOf(visitor)))

test('Redis stores a session under the digest of its id, for fifteen minutes', async () => {
  const visitor = await area.signIn({ team: 'stored' })
  const [id, key] = [idOf(visitor), keyOf(visitor)]
  const text = await area.redis.client.get(key)
  expect(JSON.parse(text ?? '')).toMatchObject({ team: 'stored', sub: 'owner-1' })
  expect(text).not.toContain(id)
  const leftMs = await area.redis.client.pttl(key)
  expect(leftMs).toBeGreaterThan(14 * 60_000)
  expect(leftMs).toBeLessThanOrEqual(15 * 60_000)
  expect((await area.redis.client.keys(`*${id}*`)).length).toBe(0)
})

describe('nobody is signed in by', () => {
  test.each<[string, Claims, string]>([
    ['expired', { exp: inSeconds(-60) }, 'This link has expired'],
    ['good for longer than five minutes', { exp: inSeconds(600) }, notValid],
    ['without expiry', { exp: undefined }, notValid],
    ['not good yet', { nbf: inSeconds(600) }, notValid],
    ['for another audience', { aud: 'tidemark-api' }, notValid],
    ['without audience', { aud: undefined }, notValid],
    ['of another issuer', { iss: 'https://evil.example' }, notValid],
    ['without issuer', { iss: undefined }, notValid],
    ['for a team that is no identifier', { team: 'acme/other' }, notValid],
    ['for no team', { team: undefined }, notValid],
    ['for somebody of spaces', { sub: ' ' }, notValid],
    ['for somebody with an endless name', { sub: 'x'.repeat(201) }, notValid],
    ['without jti', { jti: undefined }, notValid],
    ['with an empty jti', { jti: '' }, notValid],
    ['of a member', { role: 'member' }, 'Only an owner of the team can manage its keys'],
    ['of an owner in capitals', { role: 'Owner' }, 'Only an owner of the team can manage its keys'],
    ['of no role', { role: undefined }, notValid],
    ['of several roles', { role: ['owner'] }, notValid],
  ])('a token %s', async (_, changes, title) => {
    expectRefused(await follow(await signToken(signInClaims(Date.now(), changes))), title)
  })

  test('a token of another secret, of another algorithm, with changed claims, or without a signature', async () => {
    const claims = signInClaims(Date.now())
    const [head, , signature] = (await signToken(claims)).split('.')
    const changed = Buffer.from(JSON.stringify({ ...claims, team: 'other' })).toString('base64url')
    const longer = Buffer.concat([Buffer.from(signInSecret), Buffer.alloc(64)])
    const tokens = [
      await signToken(claims, Buffer.from('another secret, also forty bytes long...')),
      await signToken(claims, longer, { alg: 'HS512' }),
      `${head}.${changed}.${signature}`,
      unsignedToken(claims),
    ]
    for (const token of tokens) expectRefused(await follow(token), notValid)
  })

  test.each(['', 'x', 'a.b.c', '%00', '..', 'e30.e30.'])('the token "%s"', async (token) => {
    expectRefused(await follow(token), notValid)
  })

  test('no token, two tokens, and a target that is badly percent-encoded', async () => {
    const token = await signToken(signInClaims(Date.now()))
    for (const query of ['', `?token=${token}&token=${token}`, '?token=%', '?token=%zz%e0%a4'])
      expectRefused(await area.visitor().get(`/sign-in${query}`), notValid)
  })

  test('a refused link, whose page has a link to the product if SIGN_IN_PAGE is set', async () => {
    expect((await follow('x')).text).toContain('href="https://quiz.example/keys?from=settings"')
  })
})

test('a link works once, also when many browsers follow it at the same time', async () => {
  const once = await signToken(signInClaims(Date.now()))
  expect((await follow(once)).status).toBe(303)
  expectRefused(await follow(once), 'This link was used already')
  const contested = await signToken(signInClaims(Date.now()))
  const answers = await Promise.all(Array.from({ length: 20 }, () => follow(contested)))
  expect(answers.filter(({ status }) => status === 303)).toHaveLength(1)
  expect(answers.filter(({ status }) => status === 403)).toHaveLength(19)
})

test('the use of a link is remembered for longer than its token is valid, also if clocks differ', async () => {
  const jti = randomUUID()
  await area.signIn({ jti, exp: inSeconds(1) })
  const leftMs = await area.redis.client.pttl(area.redisKeys.usedSignIn(digestOf(jti)))
  expect(leftMs).toBeGreaterThan(400_000)
})

test('HEAD of a link does not use it up', async () => {
  const token = await signToken(signInClaims(Date.now()))
  const looked = await area.send(`/sign-in?token=${token}`, { method: 'HEAD' })
  expect([looked.status, looked.headers['allow']]).toEqual([405, 'GET'])
  expect((await follow(token)).status).toBe(303)
})

test('signing in creates a new session, and ends the previous session of the browser', async () => {
  const planted = 'A'.repeat(43)
  const victim = area.visitor()
  victim.jar.set('tidemark-session', planted)
  await victim.get(`/sign-in?token=${await signToken(signInClaims(Date.now()))}`)
  expect(victim.jar.get('tidemark-session')).not.toBe(planted)
  const attacker = area.visitor()
  attacker.jar.set('tidemark-session', planted)
  expect((await attacker.get('/keys')).status).toBe(403)

  const earlier = area.visitor()
  earlier.jar.set('tidemark-session', victim.jar.get('tidemark-session') ?? '')
  expect((await earlier.get('/keys')).status).toBe(200)
  await victim.get(`/sign-in?token=${await signToken(signInClaims(Date.now()))}`)
  expect((await earlier.get('/keys')).status).toBe(403)
})

test('a session ends when it expires in Redis, and no request prolongs it', async () => {
  const visitor = await area.signIn()
  const key = keyOf(visitor)
  await area.redis.client.pexpire(key, 60_000)
  expect((await visitor.get('/keys')).status).toBe(200)
  expect(await area.redis.client.pttl(key)).toBeLessThanOrEqual(60_000)
  await area.redis.client.pexpire(key, 0)
  const over = await visitor.get('/keys')
  expect(over.status).toBe(403)
  expect(over.text).toContain('You are not signed in')
})

test('signing out ends the session itself, not only the cookie', async () => {
  const visitor = await area.signIn()
  const id = visitor.jar.get('tidemark-session') ?? ''
  const { csrf } = await visitor.hidden()
  const answer = await visitor.post('/sign-out', { csrf })
  expect([answer.status, answer.headers['location']]).toEqual([303, './signed-out'])
  expect(visitor.jar.has('tidemark-session')).toBe(false)
  expect((await visitor.get('/signed-out')).text).toContain('You are signed out')
  visitor.jar.set('tidemark-session', id)
  expect((await visitor.get('/keys')).status).toBe(403)
})

describe('with public keys', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  let answerKeys = async (): Promise<unknown> => ({
    keys: [
      { ...(await exportJWK(rsa.publicKey)), kid: 'rsa', alg: 'RS256', use: 'sig' },
      { ...(await exportJWK(ec.publicKey)), kid: 'ec', alg: 'ES256', use: 'sig' },
    ],
  })
  const keyServer = useStarted('the server of keys', () =>
    startLocalServer((_request, response) => {
      const fail = () => response.writeHead(500).end()
      answerKeys().then((keys) => response.end(JSON.stringify(keys)), fail)
    }),
  )
  const jwksSettings = () => ({ SIGN_IN_SECRET: '', SIGN_IN_JWKS_URL: `${keyServer.url}/keys` })
  const byKeys = useStarted('the area with keys', () => startTestSettings({ ...names, ...jwksSettings() }))

  test('a token that any of the keys has signed is accepted', async () => {
    const claims = (): Claims => signInClaims(Date.now())
    const byRsa = await signToken(claims(), rsa.privateKey, { alg: 'RS256', kid: 'rsa' })
    const byEc = await signToken(claims(), ec.privateKey, { alg: 'ES256', kid: 'ec' })
    for (const token of [byRsa, byEc]) expect((await follow(token, byKeys)).status).toBe(303)
  })

  test('a token that is signed with a public key as shared secret is refused', async () => {
    const secrets = [
      Buffer.from(rsa.publicKey.export({ type: 'spki', format: 'pem' })),
      Buffer.from(rsa.publicKey.export({ type: 'spki', format: 'der' })),
      Buffer.from(JSON.stringify(await exportJWK(rsa.publicKey))),
      Buffer.from(signInSecret),
    ]
    for (const secret of secrets) {
      const token = await signToken(signInClaims(Date.now()), secret, { alg: 'HS256', kid: 'rsa' })
      expectRefused(await follow(token, byKeys), notValid)
    }
    expectRefused(await follow(unsignedToken(signInClaims(Date.now())), byKeys), notValid)
  })

  test('a token that another key, or a key in the token itself, has signed is refused', async () => {
    const forger = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const token = await signToken(signInClaims(Date.now()), forger.privateKey, { alg: 'RS256', kid: 'rsa' })
    const jwk = await exportJWK(forger.publicKey)
    const brought = { alg: 'RS256', kid: 'new', jwk, jku: 'https://evil.example/keys' } as never
    const bringing = await signToken(signInClaims(Date.now()), forger.privateKey, brought)
    for (const each of [token, bringing]) expectRefused(await follow(each, byKeys), notValid)
  })

  test('a link gets 503 while the keys cannot be fetched, and is not used up', async () => {
    const goodKeys = answerKeys
    answerKeys = async () => Promise.reject(new Error('down'))
    const fresh = close(await startTestSettings({ ...names, ...jwksSettings() }))
    const token = await signToken(signInClaims(Date.now()), rsa.privateKey, { alg: 'RS256', kid: 'rsa' })
    try {
      const { status, headers } = await follow(token, fresh)
      expect([status, headers['retry-after']]).toEqual([503, '5'])
    } finally {
      answerKeys = goodKeys
    }
    expect((await follow(token, fresh)).status).toBe(303)
  })
})

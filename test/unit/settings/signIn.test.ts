import { tokenVerifier } from '../../../src/settings/signIn.ts'
import { succeeds } from '../../support/eventually.ts'
import { type Claims, signInClaims, signInSettings, signToken } from '../../support/signIns.ts'

const nowMs = Date.parse('2026-11-21T12:00:00.000Z')
const nowSeconds = nowMs / 1_000
const config = { ...signInSettings, SIGN_IN_JWKS_URL: undefined, SIGN_IN_AUDIENCE: 'tidemark-settings' }
const verify = async (changes: Claims) =>
  tokenVerifier(config, () => nowMs)(await signToken(signInClaims(nowMs, changes)))
const isGood = (changes: Claims): Promise<boolean> => succeeds(verify(changes))

test.each([306, 305, 0, -4, -6])('a token that expires %i seconds from now', async (seconds) => {
  expect(await isGood({ exp: nowSeconds + seconds })).toBe(seconds >= -4 && seconds <= 305)
})

test.each<[string, Claims, string]>([
  ['expired, and for somebody else', { exp: nowSeconds - 60, aud: 'other' }, 'link-not-valid'],
  ['of a member, and good for too long', { role: 'member', exp: nowSeconds + 3_600 }, 'link-not-valid'],
])('a token %s is refused as %s', async (_, changes, code) => {
  await expect(verify(changes)).rejects.toMatchObject({ code })
})

test('a token with several audiences is accepted if the settings area is one of them', async () => {
  await expect(isGood({ aud: ['other', 'tidemark-settings'] })).resolves.toBe(true)
})

test('a token is verified with the present secret in its file', async () => {
  const next = 'the next secret of the tests, which is longer.'
  const files = { latest: () => ({ ...config, SIGN_IN_SECRET: next }) } as never
  const judge = tokenVerifier({ ...config, files }, () => nowMs)
  const [good, former] = [await signToken(signInClaims(nowMs), Buffer.from(next)), await signToken(signInClaims(nowMs))]
  await expect(judge(good)).resolves.toMatchObject({ owner: { team: 'acme' } })
  await expect(judge(former)).rejects.toMatchObject({ code: 'link-not-valid' })
})

test('half a surrogate pair in a name is replaced, and a name may have 200 characters of two code units', async () => {
  await expect(verify({ sub: 'a\ud800' })).resolves.toMatchObject({ owner: { sub: 'a\ufffd' } })
  await expect(isGood({ sub: '😀'.repeat(200) })).resolves.toBe(true)
})

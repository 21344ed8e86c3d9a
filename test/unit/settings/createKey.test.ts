import { isOnceToken, keySeed } from '../../../src/settings/createKey.ts'
import type { OpenSession } from '../../../src/settings/sessions.ts'

const session = { id: 'id', secret: 'secret' } as OpenSession
const seed = (changes: Partial<OpenSession>, once = 'once') =>
  Buffer.from(keySeed({ ...session, ...changes }, once)).toString('hex')

test('a seed depends on session, secret and form, and on nothing else', () => {
  expect(seed({})).toBe(seed({ csrf: 'other' }))
  expect(Buffer.from(seed({}), 'hex')).toHaveLength(32)
  const all = [seed({}), seed({ id: 'other' }), seed({ secret: 'other' }), seed({}, 'other')]
  expect(new Set(all).size).toBe(all.length)
})

test.each(['', 'short', 'x'.repeat(65), 'with a space and more', '<script></script>'])('"%s" names no form', (text) => {
  expect(isOnceToken(text)).toBe(false)
})

import { keySeed } from '../../../src/settings/keyRoutes.ts'

const session = { id: 'id', secret: 'secret' }
const seed = (changes: Partial<typeof session>, once = 'once'): string =>
  Buffer.from(keySeed({ ...session, ...changes }, once)).toString('hex')

test('the seed of a key depends on session, secret and form', () => {
  expect(seed({})).toBe(seed({}))
  expect(Buffer.from(seed({}), 'hex')).toHaveLength(32)
  const all = [seed({}), seed({ id: 'other' }), seed({ secret: 'other' }), seed({}, 'other')]
  expect(new Set(all).size).toBe(all.length)
})

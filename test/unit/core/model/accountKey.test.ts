import { createHash, randomBytes } from 'node:crypto'
import { digestOf, plaintextFrom, startOf } from '../../../../src/core/model/accountKey.ts'

test('a plaintext key is its prefix and 32 random bytes in base64url', () => {
  const random = randomBytes(32)
  const plaintext = plaintextFrom(random)
  expect(plaintext).toMatch(/^rqp_acct_[A-Za-z0-9_-]{43}$/)
  expect(Buffer.from(plaintext.slice('rqp_acct_'.length), 'base64url')).toEqual(random)
})

test('a digest is the lower-case hex SHA-256 of the whole plaintext', () => {
  expect(digestOf('rqp_acct_x')).toBe(createHash('sha256').update('rqp_acct_x').digest('hex'))
  expect(digestOf('rqp_acct_x')).toMatch(/^[0-9a-f]{64}$/)
})

test('the start of a key tells four of its characters, no more', () => {
  expect(startOf('rqp_acct_abcdefgh')).toBe('rqp_acct_abcd')
})

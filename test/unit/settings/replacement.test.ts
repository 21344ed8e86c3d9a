import type { Instant } from '../../../src/core/model/instant.ts'
import { replacementAmong, replacementOf } from '../../../src/settings/replacement.ts'

const nowMs = Date.parse('2026-11-21T12:00:00.000Z')
const at = (text: string): Instant => text as Instant
const createdAt = at('2026-01-01T10:00:00.000Z')

test.each([
  ['Export', 'Export (2026-11-21)'],
  ['Export (2025-02-03)', 'Export (2026-11-21)'],
  ['Export (new)', 'Export (new) (2026-11-21)'],
  ['鍵'.repeat(100), `${'鍵'.repeat(87)} (2026-11-21)`],
  ['😀'.repeat(100), `${'😀'.repeat(87)} (2026-11-21)`],
])('a key named %s is replaced by %s', (name, expected) => {
  const { name: replacement } = replacementOf({ name, createdAt, expiresAt: null }, nowMs)
  expect(replacement).toBe(expected)
  expect([...replacement].length).toBeLessThanOrEqual(100)
})

test.each([
  [null, ''],
  ['2026-01-31T23:59:59.999Z', '2026-12-21'],
  // A record of another program may have an expiry before its creation.
  ['2025-01-01T00:00:00.000Z', '2026-11-21'],
  ['9999-12-31T23:59:59.999Z', '9999-12-31'],
])('a key that expires %s is replaced by one for the same time: %s', (expiresAt, expected) => {
  const key = { name: 'n', createdAt, expiresAt: expiresAt === null ? null : at(expiresAt) }
  expect(replacementOf(key, nowMs).expires).toBe(expected)
})

test('the newest later key of the same name with a day is the replacement', () => {
  const long = 'x'.repeat(100)
  const keys = [
    { name: 'Export', createdAt: at('2026-01-01T00:00:00.000Z') },
    { name: 'Export', createdAt: at('2026-01-02T00:00:00.000Z') },
    { name: 'Export (2026-01-03)', createdAt: at('2026-01-03T00:00:00.000Z') },
    { name: 'Import (2026-01-04)', createdAt: at('2026-01-04T00:00:00.000Z') },
    { name: 'Export (2026-01-05)', createdAt: at('2026-01-05T00:00:00.000Z') },
    { name: long, createdAt: at('2026-01-06T00:00:00.000Z') },
    { name: `${'x'.repeat(87)} (2026-01-07)`, createdAt: at('2026-01-07T00:00:00.000Z') },
  ]
  const replaced = keys.map((key) => replacementAmong(key, keys)?.createdAt.slice(8, 10))
  expect(replaced).toEqual(['05', '05', '05', undefined, undefined, '07', undefined])
})

import type { EntityId } from '../../../../src/core/model/ids.ts'
import type { Instant } from '../../../../src/core/model/instant.ts'
import type { StoredKey } from '../../../../src/core/stores/accountKeyStore.ts'
import { listedKey } from '../../../../src/settings/pages/keyList.ts'

const nowMs = Date.parse('2026-11-21T12:00:00.000Z')
const key = { id: 'k1', state: 'active' } as StoredKey
const stateOf = (changes: Partial<StoredKey>) => listedKey({ ...key, ...changes }, new Map(), nowMs).shownState

test('a key is expired from its instant on, and revoked whether or not it is expired', () => {
  const [soon, now] = ['2026-11-21T12:00:00.001Z', '2026-11-21T12:00:00.000Z'] as [Instant, Instant]
  expect(stateOf({})).toBe('active')
  expect(stateOf({ expiresAt: null })).toBe('active')
  expect(stateOf({ expiresAt: soon })).toBe('active')
  expect(stateOf({ expiresAt: now })).toBe('expired')
  expect(stateOf({ expiresAt: now, state: 'revoked' })).toBe('revoked')
})

test('its last use is what is known of it', () => {
  const used = '2026-11-21T11:00:00.000Z' as Instant
  expect(listedKey(key, new Map([['k1' as EntityId, used]]), nowMs).lastUsed).toBe(used)
  expect(listedKey(key, new Map([['k2' as EntityId, used]]), nowMs).lastUsed).toBeUndefined()
})

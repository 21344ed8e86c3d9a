import type { EntityId } from '../core/model/ids.ts'
import type { Instant } from '../core/model/instant.ts'
import type { StoredKey } from '../core/stores/accountKeyStore.ts'

export type KeyState = 'active' | 'expired' | 'revoked'

/** A key as its owner sees it. */
export type ListedKey = StoredKey & { readonly shownState: KeyState; readonly lastUsed: Instant | undefined }

/** Puts together what is stored of a key, when it was last used, and what the clock makes of its expiry. */
export const listedKey = (key: StoredKey, lastUse: ReadonlyMap<EntityId, Instant>, nowMs: number): ListedKey => ({
  ...key,
  shownState: stateOf(key, nowMs),
  lastUsed: lastUse.get(key.id as EntityId),
})

function stateOf({ state, expiresAt }: StoredKey, nowMs: number): KeyState {
  if (state === 'revoked') return 'revoked'
  return expiresAt != null && Date.parse(expiresAt) <= nowMs ? 'expired' : 'active'
}

import type { TeamId } from '../core/model/ids.ts'
import type { AccountKeyStore } from '../core/stores/accountKeyStore.ts'
import type { AccountKeyManager } from './accountKeyManager.ts'

/** Longer than an indexer takes to read the record of a complete change. */
const unreadMs = 60_000

/** Completes a team's unread changes, unless that is being done. */
export type CompleteUnread = (team: TeamId) => Promise<void>

/**
 * Makes revocations and deletions durable that are only in Redis. Example: an owner revokes a key, and the process is killed before it appends the
 * record. A minute after the change, while no indexer has read its record, it is requested again. Of a deletion, Redis no longer has the author.
 */
export function unreadChanges(store: AccountKeyStore, keys: AccountKeyManager, nowMs: () => number): CompleteUnread {
  const completing = new Set<TeamId>()
  return async (team) => {
    if (completing.has(team)) return
    completing.add(team)
    try {
      for (const [id, key] of await store.unread(team, nowMs() - unreadMs))
        await keys[key === null ? 'delete' : 'revoke']({ team, id, by: key?.revokedBy ?? 'tidemark' })
    } finally {
      // Not again at once: while no indexer reads, each view of the keys would append the same records.
      setTimeout(() => completing.delete(team), unreadMs).unref()
    }
  }
}

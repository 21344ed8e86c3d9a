import type { TeamId } from '../core/model/ids.ts'
import type { AccountKeyStore } from '../core/redis/accountKeyStore.ts'
import type { AccountKeyManager } from './accountKeyManager.ts'

/** How long after a change its record counts as missing: longer than an indexer takes to read the record of a complete change. */
const unreadMs = 60_000

export type CompleteUnread = (team: TeamId) => Promise<void>

/**
 * Makes revocations and deletions durable that are only in Redis. Example: an owner revokes a key, and the process is killed before it appends the
 * record to Kafka. If no indexer has read the record after a minute, the change is requested again. Redis does not store who deleted a key, so the
 * author of a repeated deletion is `tidemark`.
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
      // The team stays marked for a minute: while no indexer reads, each view of the keys would append the same records again.
      setTimeout(() => completing.delete(team), unreadMs).unref()
    }
  }
}

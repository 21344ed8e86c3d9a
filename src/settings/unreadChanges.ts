import type { TeamId } from '../core/model/ids.ts'
import type { AccountKeyStore } from '../core/redis/accountKeyStore.ts'
import type { AccountKeyManager } from './accountKeyManager.ts'

/** A record that no indexer has read after this time may not be in Kafka. */
const unreadMs = 60_000

export type CompleteUnread = (team: TeamId) => Promise<void>

/**
 * Makes revocations and deletions durable that are only in Redis:
 *
 * 1. An owner revokes a key. The process is killed before it appends the record to Kafka.
 * 2. A minute later, the next view of the keys requests the change again.
 *
 * Redis does not store who deleted a key: the author of a repeated deletion is `tidemark`.
 */
export function unreadChanges(store: AccountKeyStore, keys: AccountKeyManager, nowMs: () => number): CompleteUnread {
  const completing = new Set<TeamId>()
  return async (team) => {
    if (completing.has(team)) return
    completing.add(team)
    try {
      for (const [id, key] of await store.unreadChanges(team, nowMs() - unreadMs))
        await keys[key === null ? 'delete' : 'revoke']({ team, id, by: key?.revokedBy ?? 'tidemark' })
    } finally {
      // While no indexer reads, each view would append the same records again.
      setTimeout(() => completing.delete(team), unreadMs).unref()
    }
  }
}

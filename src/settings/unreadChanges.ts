import type { TeamId } from '../core/model/ids.ts'
import type { AccountKeyStore } from '../core/redis/accountKeyStore.ts'
import type { AccountKeyManager } from './accountKeyManager.ts'

/** Longer than an indexer takes to read the record of a change that is complete. */
const unreadMs = 60_000

/**
 * Makes a team's revocations and deletions durable whose process was killed before it appended their records: each is requested again. Redis no
 * longer knows who asked for a deletion.
 */
export function unreadChanges(store: AccountKeyStore, keys: AccountKeyManager, nowMs: () => number) {
  const completing = new Set<TeamId>()
  return async (team: TeamId): Promise<void> => {
    if (completing.has(team)) return
    completing.add(team)
    try {
      for (const [id, key] of await store.unread(team, nowMs() - unreadMs))
        await keys[key === null ? 'delete' : 'revoke']({ team, id, by: key?.revokedBy ?? 'tidemark' })
    } finally {
      // Each look would append the same records again while no indexer reads.
      setTimeout(() => completing.delete(team), unreadMs).unref()
    }
  }
}

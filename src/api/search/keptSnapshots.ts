import { LRUCache } from 'lru-cache'
import type { TeamId } from '../../core/model/ids.ts'
import { type EntityType, teamList } from '../../core/model/teamList.ts'
import type { ListVersion } from '../../core/stores/listVersions.ts'
import { type ListSnapshot, openListSnapshot, type RememberCounts } from './listSnapshot.ts'
import { ElasticsearchUnavailable, type SearchClient } from './searchClient.ts'

/**
 * A read of a team's list; `version` is the list's version before the read, null while it is unknown, or while Elasticsearch may show more
 * than it stands for.
 */
export type ListReader = {
  readonly teamId: TeamId
  readonly version: ListVersion | null
  readonly signal: AbortSignal
}

/** Runs `read` on a snapshot that is at least as new as the reader's version. Rejects like `openListSnapshot`. */
export type ReadSnapshot = <T>(
  kind: EntityType,
  reader: ListReader,
  read: (snapshot: ListSnapshot) => Promise<T>,
) => Promise<T>

const lifeMs = 30_000
const maxSnapshots = 64
const maxCountedBytes = 16 * 1024 * 1024
/** The estimated size of one count; a character of its question takes two bytes. */
const bytesPerCount = 64

type Kept = {
  readonly version: ListVersion | null
  readonly snapshot: ListSnapshot
  /** Reads in progress. */
  readers: number
  /** No longer in the cache: the last reader closes it. */
  isDropped: boolean
}

/**
 * A cache of snapshots, each valid while its list has the same version, so that later pages reuse its counts. The version is
 * replaced after the refresh that makes a change visible, and a snapshot is opened after its version was read. So a snapshot holds
 * every change that its version stands for. Without a version, each read has a snapshot of its own.
 */
export function keepSnapshots(indexReader: SearchClient): ReadSnapshot {
  const kept = new LRUCache<string, Kept>({
    max: maxSnapshots,
    // A snapshot close to the end of its keep-alive is not used any more.
    ttl: lifeMs / 2,
    updateAgeOnGet: true,
    dispose: (dropped) => {
      dropped.isDropped = true
      closeWhenUnread(dropped)
    },
  })
  const nextMemory = createMemory()

  /** Reads from an entry. The caller has counted the reader already, because the entry may be dropped at any await. */
  const use = async <T>(entry: Kept, read: (snapshot: ListSnapshot) => Promise<T>): Promise<T> => {
    try {
      return await read(entry.snapshot)
    } finally {
      entry.readers--
      closeWhenUnread(entry)
    }
  }
  const useNew = async <T>(
    kind: EntityType,
    { teamId, version, signal }: ListReader,
    read: (snapshot: ListSnapshot) => Promise<T>,
  ): Promise<T> => {
    const snapshot = await openListSnapshot(indexReader, kind, teamId, { lifeMs, signal }, nextMemory())
    const entry = { version, snapshot, readers: 1, isDropped: version === null }
    if (version !== null) kept.set(teamList(kind, teamId), entry)
    return await use(entry, read)
  }
  return async (kind, reader, read) => {
    const name = teamList(kind, reader.teamId)
    const known = kept.get(name)
    if (known === undefined || known.version !== reader.version) return await useNew(kind, reader, read)
    known.readers++
    try {
      return await use(known, read)
    } catch (error) {
      if (!isMissingSnapshot(error)) throw error
      if (kept.peek(name) === known) kept.delete(name)
      return await useNew(kind, reader, read)
    }
  }
}

/** A cached snapshot may be missing in Elasticsearch: its index was closed, or a node restarted. */
const isMissingSnapshot = (error: unknown): boolean =>
  error instanceof ElasticsearchUnavailable && error.reason === 'missing-snapshot'

function closeWhenUnread({ isDropped, readers, snapshot }: Kept): void {
  if (isDropped && readers === 0) snapshot.close()
}

/** Remembers what was counted, of each snapshot apart from others. */
function createMemory(): () => RememberCounts {
  const counts = new LRUCache<string, readonly unknown[] | string>({
    maxSize: maxCountedBytes,
    sizeCalculation: (counted, question) => 2 * question.length + bytesPerCount * (counted.length + 1),
  })
  let snapshots = 0
  return () => {
    const snapshot = ++snapshots
    return async <C extends readonly unknown[] | string>(question: unknown, count: () => Promise<C>): Promise<C> => {
      const name = JSON.stringify([snapshot, question])
      const known = counts.get(name)
      if (known !== undefined) return known as C
      const counted = await count()
      counts.set(name, counted)
      return counted
    }
  }
}

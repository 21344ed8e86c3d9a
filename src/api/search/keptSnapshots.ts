import { LRUCache } from 'lru-cache'
import type { TeamId } from '../../core/model/ids.ts'
import { type EntityType, teamList } from '../../core/model/teamList.ts'
import type { ListVersion } from '../../core/stores/listVersions.ts'
import { type CountedSnapshot, countedSnapshot, countMemory } from './countedSnapshot.ts'
import { type ListSnapshot, openListSnapshot } from './listSnapshot.ts'
import type { SearchClient } from './searchClient.ts'
import { ElasticsearchUnavailable } from './searchClient.ts'

/** Who reads a list, and the version it had before; null while none is known. */
export type ListReader = {
  readonly teamId: TeamId
  readonly version: ListVersion | null
  readonly signal: AbortSignal
}

/** Runs `read` on a snapshot that holds at least what the list held in the reader's version. Rejects as `openListSnapshot`. */
export type ReadSnapshot = <T>(
  kind: EntityType,
  reader: ListReader,
  read: (snapshot: CountedSnapshot) => Promise<T>,
) => Promise<T>

const lifeMs = 30_000
const maxSnapshots = 64
const maxCountedBytes = 16 * 1024 * 1024

type Kept = {
  readonly version: ListVersion | null
  readonly snapshot: ListSnapshot
  readonly counted: CountedSnapshot
  /** How many are reading it, or the one in its place for the first time. */
  readers: number
  /** Given up: the last reader closes it. */
  isDropped: boolean
}

/**
 * Snapshots that are kept as long as their list has the same version: whoever reads on, or again, finds everything counted. The
 * version is replaced after the refresh that shows a change, and a snapshot is opened after its version was read: so it holds
 * every change that the version stands for.
 */
export function keepSnapshots(indexReader: SearchClient): ReadSnapshot {
  const memory = countMemory(maxCountedBytes)
  const kept = new LRUCache<string, Kept>({
    max: maxSnapshots,
    // A snapshot that is about to end is not read any more.
    ttl: lifeMs / 2,
    updateAgeOnGet: true,
    dispose: (dropped) => {
      dropped.isDropped = true
      closeWhenUnread(dropped)
    },
  })
  let opened = 0

  /** Reads from an entry whose reader was counted before: it may be dropped at any await. */
  const use = async <T>(entry: Kept, read: (snapshot: CountedSnapshot) => Promise<T>): Promise<T> => {
    try {
      return await read(entry.counted)
    } finally {
      entry.readers--
      closeWhenUnread(entry)
    }
  }
  const useNew = async <T>(
    kind: EntityType,
    { teamId, version, signal }: ListReader,
    read: (snapshot: CountedSnapshot) => Promise<T>,
  ): Promise<T> => {
    const snapshot = await openListSnapshot(indexReader, kind, teamId, { lifeMs, signal })
    const list = teamList(kind, teamId)
    const counted = countedSnapshot(snapshot, memory, { name: String(++opened), list })
    const entry = { version, snapshot, counted, readers: 1, isDropped: version === null }
    if (version === null) return await use(entry, read)
    // To close a snapshot costs as much as to open one: nobody waits for a page meanwhile.
    const replaced = kept.peek(list)
    if (replaced !== undefined) replaced.readers++
    kept.set(list, entry)
    return await (replaced === undefined ? use(entry, read) : use(replaced, () => use(entry, read)))
  }
  return async (kind, reader, read) => {
    const name = teamList(kind, reader.teamId)
    const known = kept.get(name)
    if (known === undefined || known.version !== reader.version) return await useNew(kind, reader, read)
    known.readers++
    try {
      return await use(known, read)
    } catch (error) {
      if (!isEnd(error)) throw error
      if (kept.peek(name) === known) kept.delete(name)
      return await useNew(kind, reader, read)
    }
  }
}

/** A snapshot that was kept may have ended all the same: its index was closed, or Elasticsearch restarted. */
const isEnd = (error: unknown): boolean =>
  error instanceof ElasticsearchUnavailable && error.reason === 'missing-snapshot'

function closeWhenUnread({ isDropped, readers, snapshot }: Kept): void {
  if (isDropped && readers === 0) snapshot.close()
}

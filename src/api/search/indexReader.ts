import { LRUCache } from 'lru-cache'
import type { TeamId } from '../../core/model/ids.ts'
import { type EntityType, type TeamList, teamList } from '../../core/model/teamList.ts'
import { aliasOf, documentKinds } from '../../core/stores/indices.ts'
import type { ListVersion } from '../../core/stores/listVersions.ts'
import { countOnly } from './clauses.ts'
import { readAnswer, totalOf } from './hits.ts'
import { type ListSnapshot, openListSnapshot } from './listSnapshot.ts'
import { ElasticsearchUnavailable, type SearchClient } from './searchClient.ts'

const maxLargeLists = 1_000
const maxLargeParts = 20_000

/** Reads the indices. Holds what is remembered between requests: open snapshots, and which lists are large. */
export type IndexReader = SearchClient & {
  /** The offset from which a page is found by counts instead of by skipping the rows before it. */
  readonly deepPageFrom: number
  /** Runs `read` on a snapshot that is at least as new as the reader's version. Rejects like `openListSnapshot`. */
  readonly readSnapshot: <T>(
    kind: EntityType,
    reader: ListReader,
    read: (snapshot: ListSnapshot) => Promise<T>,
  ) => Promise<T>
  /** Lists whose last count was so large that counting them in a search of its own is faster. */
  readonly largeLists: LRUCache<string, true>
  /** Whether a part of any row of a list was large, and at which version of the list. */
  readonly largeParts: LRUCache<string, { readonly version: ListVersion; readonly hasLarge: boolean }>
}

/**
 * A read of a team's list; `version` is the list's version before the read, null while it is unknown, or while Elasticsearch may show more
 * than it stands for.
 */
export type ListReader = {
  readonly teamId: TeamId
  readonly version: ListVersion | null
  readonly signal: AbortSignal
}

/** An index reader that sends its requests through `client`. */
export const createIndexReader = (client: SearchClient, deepPageFrom: number): IndexReader => ({
  ...client,
  deepPageFrom,
  readSnapshot: keepSnapshots(client),
  largeLists: new LRUCache({ max: maxLargeLists }),
  largeParts: new LRUCache({ max: maxLargeParts }),
})

const lifeMs = 30_000
const maxSnapshots = 64

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
function keepSnapshots(client: SearchClient): IndexReader['readSnapshot'] {
  const closeWhenUnread = ({ isDropped, readers, snapshot }: Kept): void => {
    if (isDropped && readers === 0) snapshot.close()
  }
  const kept = new LRUCache<TeamList, Kept>({
    max: maxSnapshots,
    // A snapshot close to the end of its keep-alive is not used any more.
    ttl: lifeMs / 2,
    updateAgeOnGet: true,
    dispose: (dropped) => {
      dropped.isDropped = true
      closeWhenUnread(dropped)
    },
  })
  const open = async (kind: EntityType, { teamId, version, signal }: ListReader): Promise<Kept> => {
    const snapshot = await openListSnapshot(client, kind, teamId, { lifeMs, signal })
    const entry = { version, snapshot, readers: 1, isDropped: version === null }
    if (version !== null) kept.set(teamList(kind, teamId), entry)
    return entry
  }
  /** The reader is counted already, because the entry may be dropped at any await. */
  const use = async <T>(entry: Kept, read: (snapshot: ListSnapshot) => Promise<T>): Promise<T> => {
    try {
      return await read(entry.snapshot)
    } finally {
      entry.readers--
      closeWhenUnread(entry)
    }
  }
  return async (kind, reader, read) => {
    const list = teamList(kind, reader.teamId)
    const known = kept.get(list)
    if (known === undefined || known.version !== reader.version) return await use(await open(kind, reader), read)
    known.readers++
    try {
      return await use(known, read)
    } catch (error) {
      // It may be missing in Elasticsearch: its index was closed, or a node restarted.
      if (!(error instanceof ElasticsearchUnavailable) || error.reason !== 'missing-snapshot') throw error
      if (kept.peek(list) === known) kept.delete(list)
      return await use(await open(kind, reader), read)
    }
  }
}

/** Resolves if every shard of every index answers; rejects with `ElasticsearchUnavailable`. */
export async function probe({ indexPrefix, send }: SearchClient, signal: AbortSignal): Promise<void> {
  const aliases = documentKinds.map((kind) => aliasOf(indexPrefix, kind))
  const { isFound, bytes } = await send(
    {
      method: 'POST',
      path: `/${aliases.join(',')}/_search`,
      querystring: { allow_partial_search_results: false },
      body: countOnly,
    },
    signal,
  )
  if (!isFound) throw new ElasticsearchUnavailable('missing-index', aliases.join(', '))
  totalOf(readAnswer(bytes))
}

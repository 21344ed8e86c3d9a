import { LRUCache } from 'lru-cache'
import { aliasOf, documentKinds } from '../../core/elasticsearch/indices.ts'
import { type TeamList, teamList } from '../../core/model/ids.ts'
import type { ListVersion } from '../../core/redis/listVersions.ts'
import { type Clause, countAtMostOne, countOnly } from './clauses.ts'
import { readAnswer, searchTeam, totalOf } from './hits.ts'
import { type ListSnapshot, openListSnapshot } from './listSnapshot.ts'
import { findCopies } from './readPrimaries.ts'
import { ElasticsearchUnavailable, type SearchClient, type SearchedList } from './searchClient.ts'

export interface IndexReader extends SearchClient {
  /** From this offset on, a page is found by counting. */
  readonly deepPageFrom: number
  /**
   * Calls `read` with the cached snapshot of the list version. If the version is unknown, or the snapshot is lost during `read`, with a new one,
   * which is not cached.
   */
  readonly readSnapshot: <T>(list: SearchedList & Versioned, read: (snapshot: ListSnapshot) => Promise<T>) => Promise<T>
  /** Of `hasLarge`; keys such as `submissions/acme detail`. */
  readonly largeParts: LRUCache<string, { readonly version: ListVersion; readonly hasLarge: boolean }>
}

/** `version`: read before the search; null while unknown. */
type Versioned = { readonly version: ListVersion | null }

export type VersionedList = SearchedList & IndexReader & Versioned

export const createIndexReader = (client: SearchClient, deepPageFrom: number): IndexReader => ({
  ...client,
  deepPageFrom,
  readSnapshot: snapshotCache(),
  largeParts: new LRUCache({ max: 20_000 }),
})

/** Elasticsearch closes a snapshot so long after its last search. */
const snapshotLifeMs = 30_000

/** After these, a snapshot stays cached. */
const maySucceedLater: ReadonlySet<string> = new Set(['deadline', 'overloaded'])

type CachedSnapshot = {
  readonly listName: TeamList
  readonly version: ListVersion
  readonly opening: Promise<ListSnapshot>
}

/**
 * Caches a snapshot of each list's newest version, so that later pages reuse its counts. It has every change of its version: an indexer refreshes
 * before it replaces the version; a request reads the version before it opens the snapshot.
 */
function snapshotCache(): IndexReader['readSnapshot'] {
  const cache = new LRUCache<TeamList, CachedSnapshot>({
    max: 64,
    // So that no snapshot expires while it is read.
    ttl: snapshotLifeMs / 2,
    updateAgeOnGet: true,
    dispose: ({ opening }) => {
      opening.then((snapshot) => snapshot.close()).catch(() => undefined)
    },
  })
  const forget = (entry: CachedSnapshot): void => {
    if (cache.peek(entry.listName) === entry) cache.delete(entry.listName)
  }
  const cachedOrOpened = (list: SearchedList, version: ListVersion): CachedSnapshot => {
    const listName = teamList(list.type, list.teamId)
    const cached = cache.get(listName)
    if (cached?.version === version) return cached
    const entry = { listName, version, opening: openListSnapshot(list, snapshotLifeMs) }
    entry.opening.catch(() => forget(entry))
    cache.set(listName, entry)
    return entry
  }
  return async (list, read) => {
    if (list.version !== null) {
      const entry = cachedOrOpened(list, list.version)
      const snapshot = await entry.opening
      try {
        return await read(snapshot)
      } catch (error) {
        if (!(error instanceof ElasticsearchUnavailable) || maySucceedLater.has(error.reason)) throw error
        // A newer version has replaced it, or it was lost with its index or node.
        forget(entry)
      }
    }
    const snapshot = await openListSnapshot(list, snapshotLifeMs)
    return await read(snapshot).finally(() => snapshot.close())
  }
}

export const hasAny = async (list: SearchedList, query: Clause, signal: AbortSignal): Promise<boolean> =>
  totalOf(await searchTeam(list, { query, ...countAtMostOne }, signal)) > 0

/** Rejects unless every shard answers, and no index is of an earlier release. */
export async function probe(client: SearchClient, signal: AbortSignal): Promise<void> {
  const aliases = documentKinds.map((kind) => aliasOf(client.indexPrefix, kind)).join(',')
  const querystring = { allow_partial_search_results: false }
  const request = { method: 'POST', path: `/${aliases}/_search`, querystring, body: countOnly } as const
  const [{ isFound, bytes }] = await Promise.all([
    client.send(request, signal),
    // Throws for an index of an earlier release.
    findCopies(client, aliases, {}, signal),
  ])
  if (!isFound) throw new ElasticsearchUnavailable('missing-index', aliases)
  // Throws if a shard has failed.
  totalOf(readAnswer(bytes))
}

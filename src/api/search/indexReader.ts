import { LRUCache } from 'lru-cache'
import { aliasOf, documentKinds } from '../../core/elasticsearch/indices.ts'
import { type TeamList, teamList } from '../../core/model/ids.ts'
import type { ListVersion } from '../../core/redis/listVersions.ts'
import { type Clause, countAtMostOne, countOnly } from './clauses.ts'
import { readAnswer, searchTeam, totalOf } from './hits.ts'
import { type ListSnapshot, openListSnapshot } from './listSnapshot.ts'
import { findCopies } from './readPrimaries.ts'
import { ElasticsearchUnavailable, type SearchClient, type SearchedList } from './searchClient.ts'

/** All requests of a process share its caches. */
export interface IndexReader extends SearchClient {
  /** From this offset on, a page is found by counting instead of skipping the rows before it. */
  readonly deepPageFrom: number
  /** Reads in the cached snapshot of the version. If the version is unknown or the snapshot is gone, opens a new one for this read. */
  readonly readSnapshot: <T>(list: SearchedList & Versioned, read: (snapshot: ListSnapshot) => Promise<T>) => Promise<T>
  /** By list and `EntityPart`: whether that part of any row was larger than `largeBytes` at `version` (`largeRows.ts`). */
  readonly largeParts: LRUCache<string, { readonly version: ListVersion; readonly hasLarge: boolean }>
}

/** `version` is read before the list is searched; null while unknown. */
type Versioned = { readonly version: ListVersion | null }

export type ListAt = SearchedList & IndexReader & Versioned

export const createIndexReader = (client: SearchClient, deepPageFrom: number): IndexReader => ({
  ...client,
  deepPageFrom,
  readSnapshot: snapshotCache(),
  largeParts: new LRUCache({ max: 20_000 }),
})

const lifeMs = 30_000

/** After these failures, a snapshot stays cached, because a later read may succeed. */
const maySucceedLater: ReadonlySet<string> = new Set(['deadline', 'overloaded'])

type CachedSnapshot = { readonly version: ListVersion; readonly opening: Promise<ListSnapshot>; forget(): void }

/**
 * Caches a snapshot of each list's newest version, so that later pages reuse its counts. The snapshot has every change of its version: an indexer
 * refreshes, then replaces the version; a request reads the version, then opens the snapshot.
 */
function snapshotCache(): IndexReader['readSnapshot'] {
  const dispose = ({ opening }: CachedSnapshot): void => {
    opening.then((snapshot) => snapshot.close()).catch(() => undefined)
  }
  // Half the `keep_alive`, so that no snapshot expires while it is read.
  const cache = new LRUCache<TeamList, CachedSnapshot>({ max: 64, ttl: lifeMs / 2, updateAgeOnGet: true, dispose })
  const cachedFor = (list: SearchedList, version: ListVersion): CachedSnapshot => {
    const name = teamList(list.type, list.teamId)
    const cached = cache.get(name)
    if (cached?.version === version) return cached
    const forget = (): void => {
      if (cache.peek(name) === entry) cache.delete(name)
    }
    const entry: CachedSnapshot = { version, opening: openListSnapshot(list, lifeMs), forget }
    entry.opening.catch(forget)
    cache.set(name, entry)
    return entry
  }
  return async (list, read) => {
    if (list.version !== null) {
      const { opening, forget } = cachedFor(list, list.version)
      const snapshot = await opening
      try {
        return await read(snapshot)
      } catch (error) {
        if (!(error instanceof ElasticsearchUnavailable) || maySucceedLater.has(error.reason)) throw error
        // The snapshot was closed because a newer version replaced it, or was lost with its index or node.
        forget()
      }
    }
    const snapshot = await openListSnapshot(list, lifeMs)
    return await read(snapshot).finally(() => snapshot.close())
  }
}

export const hasAny = async (list: SearchedList, query: Clause, signal: AbortSignal): Promise<boolean> =>
  totalOf(await searchTeam(list, { query, ...countAtMostOne }, signal)) > 0

/** Resolves if every shard of every index answers, and no index has the mapping of an earlier release. */
export async function probe(client: SearchClient, signal: AbortSignal): Promise<void> {
  const aliases = documentKinds.map((kind) => aliasOf(client.indexPrefix, kind)).join(',')
  const querystring = { allow_partial_search_results: false }
  const request = { method: 'POST', path: `/${aliases}/_search`, querystring, body: countOnly } as const
  const [{ isFound, bytes }] = await Promise.all([
    client.send(request, signal),
    findCopies(client, aliases, {}, signal),
  ])
  if (!isFound) throw new ElasticsearchUnavailable('missing-index', aliases)
  totalOf(readAnswer(bytes))
}

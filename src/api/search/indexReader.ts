import { LRUCache } from 'lru-cache'
import { aliasOf, documentKinds } from '../../core/elasticsearch/indices.ts'
import { type TeamList, teamList } from '../../core/model/ids.ts'
import type { ListVersion } from '../../core/redis/listVersions.ts'
import { anyAtAll, type Clause, countOnly } from './clauses.ts'
import { readAnswer, searchTeam, totalOf } from './hits.ts'
import { type ListSnapshot, openListSnapshot } from './listSnapshot.ts'
import { findCopies } from './readPrimaries.ts'
import { ElasticsearchUnavailable, type SearchClient, type SearchedList } from './searchClient.ts'

/** Reads the indices, with caches shared between requests. */
export type IndexReader = ReturnType<typeof createIndexReader>

/** The version of a list, read before the list: null while unknown. */
type Versioned = { readonly version: ListVersion | null }

export type ListAt = SearchedList & IndexReader & Versioned

export const createIndexReader = (client: SearchClient, deepPageFrom: number) => ({
  ...client,
  /** From this offset on, a page is found by counting instead of skipping the rows before it. */
  deepPageFrom,
  readSnapshot: keepSnapshots(),
  /** Whether any row of a list had a large part, by list and part, with the list's version. */
  largeParts: new LRUCache<string, { readonly version: ListVersion; readonly hasLarge: boolean }>({ max: 20_000 }),
})

const lifeMs = 30_000

/** Failures of a search that say nothing against its snapshot. */
const maySucceedLater: ReadonlySet<string> = new Set(['deadline', 'overloaded'])

type Kept = { readonly version: ListVersion; readonly opening: Promise<ListSnapshot>; forget(): void }

/**
 * Caches one snapshot per list and version, so that later pages reuse its counts. A version is replaced only after the refresh that makes a
 * change visible, and a snapshot is opened after the version was read, so it contains every change of that version.
 * Without a version, each read opens its own snapshot.
 */
function keepSnapshots() {
  const dispose = ({ opening }: Kept): void => {
    opening.then((snapshot) => snapshot.close()).catch(() => undefined)
  }
  // Half the `keep_alive`, so that no snapshot expires while it is read.
  const kept = new LRUCache<TeamList, Kept>({ max: 64, ttl: lifeMs / 2, updateAgeOnGet: true, dispose })
  const keep = (list: SearchedList, version: ListVersion): Kept => {
    const name = teamList(list.type, list.teamId)
    const known = kept.get(name)
    if (known?.version === version) return known
    const forget = (): void => {
      if (kept.peek(name) === opened) kept.delete(name)
    }
    const opened: Kept = { version, opening: openListSnapshot(list, lifeMs), forget }
    opened.opening.catch(forget)
    kept.set(name, opened)
    return opened
  }
  return async <T>(list: SearchedList & Versioned, read: (snapshot: ListSnapshot) => Promise<T>): Promise<T> => {
    if (list.version !== null) {
      const { opening, forget } = keep(list, list.version)
      const snapshot = await opening
      try {
        return await read(snapshot)
      } catch (error) {
        if (!(error instanceof ElasticsearchUnavailable) || maySucceedLater.has(error.reason)) throw error
        // The snapshot was closed for a newer version, its index was closed, or its node has left or restarted.
        forget()
      }
    }
    const own = await openListSnapshot(list, lifeMs)
    return await read(own).finally(() => own.close())
  }
}

export const hasAny = async (list: SearchedList, query: Clause, signal: AbortSignal): Promise<boolean> =>
  totalOf(await searchTeam(list, { query, ...anyAtAll }, signal)) > 0

/** Resolves if every shard of every index answers and has the mapping of this release, or a later one; else rejects. */
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

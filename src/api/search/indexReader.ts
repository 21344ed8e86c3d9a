import { LRUCache } from 'lru-cache'
import { aliasOf, documentKinds } from '../../core/stores/indices.ts'
import type { ListVersion } from '../../core/stores/listVersions.ts'
import { countOnly } from './clauses.ts'
import { readAnswer, totalOf } from './hits.ts'
import { keepSnapshots, type ReadSnapshot } from './keptSnapshots.ts'
import { ElasticsearchUnavailable, type SearchClient } from './searchClient.ts'

const maxLargeLists = 1_000
const maxLargeParts = 20_000

/** Reads the indices. Holds what is remembered between requests: open snapshots, and which lists are large. */
export type IndexReader = SearchClient & {
  /** The offset from which a page is found by counts instead of by skipping the rows before it. */
  readonly deepPageFrom: number
  readonly readSnapshot: ReadSnapshot
  /** Lists whose last count was so large that counting them in a search of its own is faster. */
  readonly largeLists: LRUCache<string, true>
  /** Whether a part of any row of a list was large, and at which version of the list. */
  readonly largeParts: LRUCache<string, { readonly version: ListVersion; readonly hasLarge: boolean }>
}

/** An index reader that sends its requests through `client`. */
export const createIndexReader = (client: SearchClient, deepPageFrom: number): IndexReader => ({
  ...client,
  deepPageFrom,
  readSnapshot: keepSnapshots(client),
  largeLists: new LRUCache({ max: maxLargeLists }),
  largeParts: new LRUCache({ max: maxLargeParts }),
})

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

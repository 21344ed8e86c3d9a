import { LRUCache } from 'lru-cache'
import { keepSnapshots, type ReadSnapshot } from './keptSnapshots.ts'
import type { SearchClient } from './searchClient.ts'

const maxLargeLists = 1_000

/** Reads the indices. Holds what is remembered between requests: open snapshots, and which lists are large. */
export type IndexReader = SearchClient & {
  /** The offset from which a page is found by counts instead of by skipping the rows before it. */
  readonly deepPageFrom: number
  readonly readSnapshot: ReadSnapshot
  /** Lists whose last count was so large that counting them in a search of its own is faster. */
  readonly largeLists: LRUCache<string, true>
}

/** An index reader that sends its requests through `client`. */
export const createIndexReader = (client: SearchClient, deepPageFrom: number): IndexReader => ({
  ...client,
  deepPageFrom,
  readSnapshot: keepSnapshots(client),
  largeLists: new LRUCache({ max: maxLargeLists }),
})

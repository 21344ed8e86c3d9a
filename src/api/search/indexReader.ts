import { LRUCache } from 'lru-cache'
import { keepSnapshots, type ReadSnapshot } from './keptSnapshots.ts'
import type { SearchClient } from './searchClient.ts'

const maxLargeLists = 1_000

/** The document view as the queries see it. */
export type IndexReader = SearchClient & {
  /** The offset from which a page is found without passing over the rows before it. */
  readonly deepPageFrom: number
  readonly readSnapshot: ReadSnapshot
  /** Lists that were so long when they were counted last that they are better counted apart. */
  readonly largeLists: LRUCache<string, true>
}

/** A document view behind whoever answers questions. */
export const indexReaderOf = (asking: SearchClient, deepPageFrom: number): IndexReader => ({
  ...asking,
  deepPageFrom,
  readSnapshot: keepSnapshots(asking),
  largeLists: new LRUCache({ max: maxLargeLists }),
})

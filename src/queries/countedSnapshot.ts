import { LRUCache } from 'lru-cache'
import type { Clause } from './clauses.ts'
import type { ListCounts } from './deepPage.ts'
import type { ListSnapshot } from './listSnapshot.ts'

/** A snapshot that remembers its counts. */
export type CountedSnapshot = Pick<ListSnapshot, 'countsOf' | 'rows'>

type Counted = Awaited<ReturnType<ListCounts['countByTime' | 'countEach']>>
export type RememberedCounts = LRUCache<string, Counted>

/** Of one count in memory; characters of a question take two. */
const bytesPerCount = 64

/** A memory for counts that takes about so many bytes. */
export const rememberedCounts = (maxBytes: number): RememberedCounts =>
  new LRUCache({
    maxSize: maxBytes,
    sizeCalculation: (counted, question) => 2 * question.length + bytesPerCount * (counted.length + 1),
  })

/** A snapshot never changes, so what was counted once is counted for good. `name` is the snapshot's own within the memory. */
export const rememberCounts = (snapshot: ListSnapshot, counts: RememberedCounts, name: string): CountedSnapshot => ({
  rows: snapshot.rows,
  countsOf: (filter, signal) => {
    const list = snapshot.countsOf(filter, signal)
    const once = async <C extends Counted>(question: readonly unknown[], count: () => Promise<C>): Promise<C> => {
      const key = JSON.stringify([name, filter, ...question])
      const known = counts.get(key)
      if (known !== undefined) return known as C
      const counted = await count()
      counts.set(key, counted)
      return counted
    }
    return {
      countByTime: (span, stepMs) => once([span, stepMs], () => list.countByTime(span, stepMs)),
      countEach: (span, clauses: readonly Clause[]) => once([span, clauses], () => list.countEach(span, clauses)),
    }
  },
})

import { LRUCache } from 'lru-cache'
import type { Clause } from './clauses.ts'
import { findPage, type ListCounts, type Place } from './deepPage.ts'
import type { ListSnapshot } from './listSnapshot.ts'

/** Which rows of a list are wanted; the offset counts from 0. */
export type RowsWanted = { readonly offset: number; readonly limit: number }
/** How many rows a filter finds, and those that were wanted, as raw bytes. */
export type RowsFound = { readonly total: number; readonly rows: readonly Buffer[] }

/** A snapshot whose counts are remembered, in which rows are found that stand anywhere in its list. */
export type CountedSnapshot = {
  page(filter: readonly Clause[], wanted: RowsWanted, signal: AbortSignal): Promise<RowsFound>
}

type Counted = Awaited<ReturnType<ListCounts['countByTime' | 'countEach']>>
/** The snapshot in which a list was counted last, and by how many rows a page has moved down since, as was seen last. */
type Guide = { readonly snapshot: string; readonly drift: number }

/** What was counted in several snapshots. */
export type CountMemory = {
  readonly counts: LRUCache<string, Counted>
  readonly guides: LRUCache<string, Guide>
}

/** Of one count in memory; characters of a question take two. */
const bytesPerCount = 64
const maxGuides = 1_000
/** So many rows may have come or gone before a page while nobody looked, and it is still found at once. */
const spareRows = 10

/** A memory for counts that takes about so many bytes. */
export const countMemory = (maxBytes: number): CountMemory => ({
  counts: new LRUCache({
    maxSize: maxBytes,
    sizeCalculation: (counted, question) => 2 * question.length + bytesPerCount * (counted.length + 1),
  }),
  guides: new LRUCache({ max: maxGuides }),
})

/**
 * A snapshot never changes, so what was counted once is counted for good. A list that has changed is much like before: its older
 * counts say where a page will be, and one request to the new snapshot brings the rows from there and the counts that prove or
 * refute it. `name` is the snapshot's own within the memory, `list` the list's.
 */
export function countedSnapshot(
  snapshot: ListSnapshot,
  memory: CountMemory,
  { name: ownName, list }: { readonly name: string; readonly list: string },
): CountedSnapshot {
  const guideOf = (filter: readonly Clause[]): string => JSON.stringify([list, filter])
  /** Looks where the guide leads, and has it learn from what is found there. */
  const look = async (
    filter: readonly Clause[],
    { offset, limit }: RowsWanted,
    signal: AbortSignal,
  ): Promise<RowsFound | 'elsewhere' | 'lost'> => {
    const name = guideOf(filter)
    const guide = memory.guides.get(name)
    // What this snapshot knows of itself was tried, and counting on in it costs less than to look.
    if (guide === undefined || guide.snapshot === ownName) return 'lost'
    const size = limit + 2 * spareRows
    const start = Math.max(0, offset - guide.drift - spareRows)
    const { stretch } = (await recall(memory, guide.snapshot, filter, { offset: start, limit: size })) ?? {}
    if (stretch === undefined) return 'lost'
    const { total, before, rows } = await snapshot.survey(filter, stretch, size, signal)
    const first = before + stretch.skip
    const end = Math.min(offset + limit, total)
    memory.guides.set(name, { ...guide, drift: first - start })
    if (offset >= end) return { total, rows: [] }
    if (offset < first || end > first + rows.length) return 'elsewhere'
    return { total, rows: rows.slice(offset - first, end - first) }
  }
  /** The first look tells how many rows have come or gone; the second one knows. */
  const guided = async (
    filter: readonly Clause[],
    wanted: RowsWanted,
    signal: AbortSignal,
  ): Promise<RowsFound | undefined> => {
    let found = await look(filter, wanted, signal)
    if (found === 'elsewhere') found = await look(filter, wanted, signal)
    return typeof found === 'string' ? undefined : found
  }
  return {
    page: async (filter, wanted, signal) => {
      const known = await recall(memory, ownName, filter, wanted)
      const nearby = known === undefined ? await guided(filter, wanted, signal) : undefined
      if (nearby !== undefined) return nearby
      const { offset, limit } = wanted
      const counts = remembering(memory, ownName, filter, snapshot.countsOf(filter, signal))
      const { total, stretch } = known ?? (await findPage(counts, offset, limit))
      memory.guides.set(guideOf(filter), { snapshot: ownName, drift: 0 })
      return { total, rows: stretch === undefined ? [] : await snapshot.rows(filter, stretch, limit, signal) }
    },
  }
}

/** Counts of the snapshot `name`: those in memory, and else those of `source`, which are remembered. */
function remembering({ counts }: CountMemory, name: string, filter: readonly Clause[], source: ListCounts): ListCounts {
  const once = async <C extends Counted>(question: readonly unknown[], count: () => Promise<C>): Promise<C> => {
    const key = JSON.stringify([name, filter, ...question])
    const known = counts.get(key)
    if (known !== undefined) return known as C
    const counted = await count()
    counts.set(key, counted)
    return counted
  }
  return {
    countByTime: (span, stepMs) => once([span, stepMs], () => source.countByTime(span, stepMs)),
    countEach: (span, clauses) => once([span, clauses], () => source.countEach(span, clauses)),
  }
}

const notRemembered = new Error('not counted, or no longer in memory')
const nothingElse: ListCounts = {
  countByTime: () => Promise.reject(notRemembered),
  countEach: () => Promise.reject(notRemembered),
}

/** Where a page is by what is remembered of the snapshot `name`; undefined when that is not enough to tell. */
async function recall(
  memory: CountMemory,
  name: string,
  filter: readonly Clause[],
  { offset, limit }: RowsWanted,
): Promise<Place | undefined> {
  try {
    return await findPage(remembering(memory, name, filter, nothingElse), offset, limit)
  } catch (error) {
    if (error === notRemembered) return undefined
    throw error
  }
}

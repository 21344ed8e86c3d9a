import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { EntityId } from '../../core/model/ids.ts'
import { type Filter, type Filters, largeOf } from './clauses.ts'
import { type Detail, readDetails } from './details.ts'
import { allOf, type RowKey } from './hits.ts'
import { hasAny } from './indexReader.ts'
import { maxRows, type Pages, type Rows, readParts, weighDetails } from './largeRows.ts'
import { type ListSnapshot, openListSnapshot } from './listSnapshot.ts'
import { countRows, rangesOfRows } from './rowRanges.ts'
import { ElasticsearchUnavailable, type RunQuery, type SearchedList } from './searchClient.ts'
import { findPageKeys, firstFound, type PageRequest, type PickRow } from './searchPage.ts'

export type ExportContent = {
  readonly filters: Filters
  /** `summary`: items as in the list; `full`: as requested by id. */
  readonly view: 'summary' | 'full'
  readonly pick: PickRow
}

/** The `keep_alive` of a snapshot. */
const exportLifeMs = 120_000
/** How often a snapshot is renewed within its life: Elasticsearch may refuse some of these questions. */
const renewals = 4
/** Limits a batch of keys to 4 MiB, however long the ids are. */
const maxKeys = 5_000
/** Fewer, because their sizes are to be known just before the details are read. */
const maxDetailKeys = 1_000

type Keys = AsyncGenerator<readonly RowKey[], void, undefined>

/**
 * Yields what `read` reads in a snapshot of a list, which Elasticsearch keeps for `lifeMs` after each question. It is asked something now and then, because
 * the client may take longer than that for a part, and details are read elsewhere.
 */
export async function* inSnapshot<Part>(
  list: SearchedList,
  runQuery: RunQuery,
  read: (snapshot: ListSnapshot) => AsyncIterable<Part>,
  lifeMs: number,
): AsyncGenerator<Part, void, undefined> {
  const snapshot = await runQuery(() => openListSnapshot(list, lifeMs))
  // Who needs a snapshot that has expired all the same is told so.
  const renew = (): void => void runQuery((signal) => snapshot.renew(signal)).catch(() => undefined)
  const renewing = setInterval(renew, lifeMs / renewals)
  try {
    yield* read(snapshot)
  } finally {
    clearInterval(renewing)
    snapshot.close()
  }
}

/**
 * Yields all rows of the first filter that finds any, newest first, in parts, from one snapshot. Summaries are fetched only after the
 * part before was consumed. Also rejects if Elasticsearch returns fewer rows than it counted.
 */
export const exportList = (
  list: SearchedList,
  content: ExportContent,
  runQuery: RunQuery,
  lifeMs = exportLifeMs,
): Rows => inSnapshot(list, runQuery, (snapshot) => readList(list, snapshot, content, runQuery), lifeMs)

async function* readList(
  list: SearchedList,
  snapshot: ListSnapshot,
  { filters, view, pick }: ExportContent,
  runQuery: RunQuery,
): Rows {
  const { filter } = await firstFound(filters, async (filter) => {
    return { filter, total: await countRows(snapshot.countsOf(filter, runQuery)) }
  })
  const walk = (limit: number): Keys => walkList(snapshot, filter, limit, runQuery)
  let items: AsyncIterable<readonly Buffer[]>
  // Prefetches one part.
  if (view === 'full')
    items = Readable.from(readWholeEntities(list, walk(maxDetailKeys), runQuery), { highWaterMark: 1 })
  else if (await runQuery((signal) => snapshot.hasLargeRows(signal)))
    items = readRows(snapshot, walk(maxKeys), runQuery)
  else items = readSmallRows(snapshot, filter, runQuery)
  for await (const rows of items) yield rows.map(pick)
}

/** Yields a page in parts, as an export does: at least one part, which may be empty, each with the total of the list. */
export const exportPage = (list: SearchedList, filters: Filters, request: PageRequest, runQuery: RunQuery) =>
  inSnapshot(list, runQuery, (snapshot) => readPage(snapshot, filters, request, runQuery), exportLifeMs)

async function* readPage(snapshot: ListSnapshot, filters: Filters, request: PageRequest, runQuery: RunQuery) {
  const { total, keys } = await firstFound(filters, (filter) =>
    runQuery((signal) => findPageKeys(snapshot, filter, request, signal)),
  )
  if (keys.length === 0) yield { total, rows: [] }
  for await (const rows of readRows(snapshot, [keys], runQuery)) yield { total, rows }
}

export type WalkedSnapshot = Pick<ListSnapshot, 'countsOf' | 'keys'>

/**
 * Yields the keys of all rows that match a filter, newest first, in batches of at most `limit`. Also rejects if Elasticsearch returns
 * fewer rows than it counted.
 */
export async function* walkList(snapshot: WalkedSnapshot, filter: Filter, limit: number, runQuery: RunQuery): Keys {
  for await (const { clause, count } of rangesOfRows(snapshot.countsOf(filter, runQuery), limit))
    yield allOf(count, await runQuery((signal) => snapshot.keys(filter, { clause, skip: 0 }, limit, signal)))
}

/** Yields the rows of `walkList` without reading keys, which only tell sizes; for lists without large rows. */
function readSmallRows(snapshot: ListSnapshot, filter: Filter, runQuery: RunQuery): Rows {
  async function* places() {
    for await (const { clause, count } of rangesOfRows(snapshot.countsOf(filter, runQuery), maxRows))
      yield Array.from({ length: count }, (_, skip) => ({ clause, skip, bytes: undefined }))
  }
  return readParts(places(), async (part, bytes) => {
    const [first] = part
    if (first === undefined) return []
    const rows = runQuery((signal) => snapshot.rows(filter, first, part.length, signal), bytes)
    return allOf(part.length, await rows)
  })
}

const readRows = (snapshot: ListSnapshot, pages: Pages<RowKey>, runQuery: RunQuery): Rows =>
  readParts(pages, (keys, bytes) => runQuery((signal) => snapshot.rowsOf(keys, signal), bytes))

/**
 * Yields details in the order of their keys, in parts, at least as new as the keys' snapshot. Leaves out entities deleted after the
 * snapshot: no watermark published before it covers their deletion. Also rejects if an entity has no detail.
 */
export function readWholeEntities(list: SearchedList, pages: Pages<RowKey>, runQuery: RunQuery): Rows {
  // Sizes are read just before the details: an `_mget` cannot be cancelled, so its size must be known.
  async function* weighed(): Keys {
    for await (const keys of pages) {
      const ids = keys.map(({ id }) => id)
      const weighs = await runQuery((signal) => hasAny(list, largeOf(list.teamId, 'detail'), signal))
      const weights = weighs ? await runQuery((signal) => weighDetails(list, ids, signal)) : []
      yield keys.map((key, at) => ({ ...key, bytes: weights[at] }))
    }
  }
  return readParts(weighed(), (keys, bytes) => readEach(list, keys, bytes, runQuery))
}

/** How often to look for a missing detail: an indexer that retries may store it later than the row. */
const attempts = 8
const pauseMs = 250

/** The details that are not deleted, in the order of their keys. Rejects if an entity has none. */
async function readEach(list: SearchedList, keys: readonly RowKey[], bytes: number, runQuery: RunQuery) {
  const ids = keys.map(({ id }) => id)
  const found = await findDetails(list, ids, bytes, runQuery)
  if (found.size < ids.length)
    throw new ElasticsearchUnavailable('partial', `${ids.length - found.size} rows have no detail`)
  return ids.map((id) => found.get(id)).filter((detail): detail is Buffer => detail instanceof Buffer)
}

/**
 * The detail of each entity that has one, of `bytes` together at most. Retries missing ones for two seconds, in real time: they may be not refreshed, or
 * not stored, yet.
 */
export async function findDetails(
  list: SearchedList,
  ids: readonly EntityId[],
  bytes: number,
  runQuery: RunQuery,
): Promise<ReadonlyMap<EntityId, Detail>> {
  const found = new Map<EntityId, Detail>()
  for (let attempt = 0; found.size < ids.length && attempt <= attempts; attempt++) {
    const missing = ids.filter((id) => !found.has(id))
    if (attempt > 1) await sleep(pauseMs)
    const details = await runQuery((signal) => readDetails(list, missing, attempt > 0, signal), bytes)
    for (const [at, id] of missing.entries()) if (details[at] !== 'missing') found.set(id, details[at] ?? 'deleted')
  }
  return found
}

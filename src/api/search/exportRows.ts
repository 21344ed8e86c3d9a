import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { EntityId } from '../../core/model/ids.ts'
import { type Filter, type Filters, largeRowsOf } from './clauses.ts'
import { type Detail, readDetails } from './details.ts'
import { expectCount, type RowKey } from './hits.ts'
import { hasAny } from './indexReader.ts'
import { type KeyBatches, maxRowsOfPart, type Rows, readParts, weighDetails } from './largeRows.ts'
import { type ListSnapshot, openListSnapshot } from './listSnapshot.ts'
import type { RunQuery } from './queryTurns.ts'
import { countRows, rangesOfRows } from './rowRanges.ts'
import { ElasticsearchUnavailable, type SearchedList } from './searchClient.ts'
import { findPageKeys, firstFound, type PageRequest, type PickRow, type RowsFound } from './searchPage.ts'

export type ExportContent = {
  readonly filters: Filters
  readonly view: 'summary' | 'full'
  readonly pick: PickRow
}

/** Elasticsearch closes a snapshot so long after its last search. */
const exportLifeMs = 120_000
/** Several, because Elasticsearch may refuse a renewal. */
const renewalsPerLife = 4
/** Of a batch, whose response takes at most 4 MiB. */
const maxKeys = 5_000
/** Fewer, so that sizes are read shortly before the details. */
const maxDetailKeys = 1_000

type Keys = AsyncGenerator<readonly RowKey[], void, undefined>

/**
 * Yields what `read` reads in a snapshot. A timer renews it: between two searches, a slow client may pause, or details may be read, for longer than
 * `lifeMs`.
 */
export async function* inSnapshot<Part>(
  list: SearchedList,
  runQuery: RunQuery,
  read: (snapshot: ListSnapshot) => AsyncIterable<Part>,
  lifeMs: number,
): AsyncGenerator<Part, void, undefined> {
  const snapshot = await runQuery(() => openListSnapshot(list, lifeMs))
  // If the snapshot expires, the next read fails.
  const renew = (): void => void runQuery((signal) => snapshot.renew(signal)).catch(() => undefined)
  const renewing = setInterval(renew, lifeMs / renewalsPerLife)
  try {
    yield* read(snapshot)
  } finally {
    clearInterval(renewing)
    snapshot.close()
  }
}

/** Newest first, from one snapshot. With `view=full`, reads one part ahead. Rejects if Elasticsearch returns fewer rows than it counted. */
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
  const keysOf = (maxBatchKeys: number): Keys => keysInBatches(snapshot, filter, maxBatchKeys, runQuery)
  let items: AsyncIterable<readonly Buffer[]>
  if (view === 'full')
    items = Readable.from(readWholeEntities(list, keysOf(maxDetailKeys), runQuery), { highWaterMark: 1 })
  else if (await runQuery((signal) => snapshot.hasLargeRows(signal)))
    items = readRows(snapshot, keysOf(maxKeys), runQuery)
  else items = readSmallRows(snapshot, filter, runQuery)
  for await (const rows of items) yield rows.map(pick)
}

/** Each part has the list's total. An empty page is one part. */
export const exportPage = (
  list: SearchedList,
  filters: Filters,
  request: PageRequest,
  runQuery: RunQuery,
): AsyncGenerator<RowsFound, void, undefined> =>
  inSnapshot(list, runQuery, (snapshot) => readPageParts(snapshot, filters, request, runQuery), exportLifeMs)

async function* readPageParts(
  snapshot: ListSnapshot,
  filters: Filters,
  request: PageRequest,
  runQuery: RunQuery,
): AsyncGenerator<RowsFound, void, undefined> {
  const { total, keys } = await firstFound(filters, (filter) =>
    runQuery((signal) => findPageKeys(snapshot, filter, request, signal)),
  )
  if (keys.length === 0) yield { total, rows: [] }
  for await (const rows of readRows(snapshot, [keys], runQuery)) yield { total, rows }
}

export type KeySnapshot = Pick<ListSnapshot, 'countsOf' | 'keys'>

/** Batches of at most `limit` keys, newest first. */
export async function* keysInBatches(snapshot: KeySnapshot, filter: Filter, limit: number, runQuery: RunQuery): Keys {
  for await (const { clause, count } of rangesOfRows(snapshot.countsOf(filter, runQuery), limit))
    yield expectCount(count, await runQuery((signal) => snapshot.keys(filter, { clause, skip: 0 }, limit, signal)))
}

/**
 * Without large rows, no keys are needed. Instead, `readParts` gets for each row its range, and how many rows of the range come before it (`skip`).
 */
function readSmallRows(snapshot: ListSnapshot, filter: Filter, runQuery: RunQuery): Rows {
  async function* rowsByRange() {
    for await (const { clause, count } of rangesOfRows(snapshot.countsOf(filter, runQuery), maxRowsOfPart))
      yield Array.from({ length: count }, (_, skip) => ({ clause, skip, bytes: undefined }))
  }
  // A part has rows of one range: `readParts` divides each batch by itself.
  return readParts(rowsByRange(), async (part, mostBytes) => {
    const [firstRow] = part
    if (firstRow === undefined) return []
    const rows = runQuery((signal) => snapshot.rows(filter, firstRow, part.length, signal), mostBytes)
    return expectCount(part.length, await rows)
  })
}

const readRows = (snapshot: ListSnapshot, batches: KeyBatches<RowKey>, runQuery: RunQuery): Rows =>
  readParts(batches, (keys, mostBytes) => runQuery((signal) => snapshot.rowsOf(keys, signal), mostBytes))

/** Details are outside of the snapshot: they may be newer, and an entity that was deleted since is left out. Rejects if another has no detail. */
export function readWholeEntities(list: SearchedList, batches: KeyBatches<RowKey>, runQuery: RunQuery): Rows {
  // Sizes first: an `_mget` cannot be cancelled once its answer turns out too large.
  async function* keysWithSizes(): Keys {
    for await (const keys of batches) {
      const ids = keys.map(({ id }) => id)
      const isAnyLarge = await runQuery((signal) => hasAny(list, largeRowsOf(list.teamId, 'detail'), signal))
      const sizes = isAnyLarge ? await runQuery((signal) => weighDetails(list, ids, signal)) : []
      yield keys.map((key, index) => ({ ...key, bytes: sizes[index] }))
    }
  }
  return readParts(keysWithSizes(), (keys, mostBytes) => readDetailsOf(list, keys, mostBytes, runQuery))
}

async function readDetailsOf(list: SearchedList, keys: readonly RowKey[], mostBytes: number, runQuery: RunQuery) {
  const ids = keys.map(({ id }) => id)
  const details = await findDetails(list, ids, mostBytes, runQuery)
  if (details.size < ids.length)
    throw new ElasticsearchUnavailable('partial', `${ids.length - details.size} rows have no detail`)
  return ids.map((id) => details.get(id)).filter((detail): detail is Buffer => detail instanceof Buffer)
}

/** The first at once, the others after a pause. */
const maxRetries = 8
const pauseMs = 250

/**
 * Reads a missing detail again for about two seconds, in real time: an indexer may have written the row, and not yet written or refreshed the detail.
 * After that, its id is left out. `mostBytes`: of all details together.
 */
export async function findDetails(
  list: SearchedList,
  ids: readonly EntityId[],
  mostBytes: number,
  runQuery: RunQuery,
): Promise<ReadonlyMap<EntityId, Detail>> {
  const detailsById = new Map<EntityId, Detail>()
  for (let attempt = 0; detailsById.size < ids.length && attempt <= maxRetries; attempt++) {
    const missing = ids.filter((id) => !detailsById.has(id))
    if (attempt > 1) await sleep(pauseMs)
    const isRealtime = attempt > 0
    const details = await runQuery((signal) => readDetails(list, missing, isRealtime, signal), mostBytes)
    for (const [index, id] of missing.entries()) {
      const detail = details[index]
      if (detail !== undefined && detail !== 'missing') detailsById.set(id, detail)
    }
  }
  return detailsById
}

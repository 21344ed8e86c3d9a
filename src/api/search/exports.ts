import { setTimeout as sleep } from 'node:timers/promises'
import type { EntityId, TeamId } from '../../core/model/ids.ts'
import type { EntityType } from '../../core/model/teamList.ts'
import type { Clause } from './clauses.ts'
import { type Detail, detailKinds, readDetails } from './details.ts'
import { detailParts } from './largeParts.ts'
import { listIds, listRows, PartSize } from './listParts.ts'
import { type ListSnapshot, openListSnapshot } from './listSnapshot.ts'
import type { PageRequest } from './page.ts'
import { ElasticsearchUnavailable, type RunQuery, type SearchClient } from './searchClient.ts'
import type { Filters } from './searchPage.ts'

/** What an export holds. */
export type ExportContent = {
  readonly filters: Filters
  /** Whether an item is its summary, or what the endpoint of a single entity answers. */
  readonly view: 'summary' | 'full'
  /** Selects tombstones, whose entities follow the items; undefined for none. */
  readonly deletions: readonly Clause[] | undefined
}

/** The keep-alive of the snapshot: how long a client may take to read one part. */
const exportLifeMs = 120_000

/**
 * For how many parts of details ids are found at once: finding few ids takes as long as finding many. While they are read, the
 * snapshot is not.
 */
const partsOfIds = 4

/**
 * Yields every row of a team's list as raw bytes, newest first, in parts: the rows of the first filter that finds any. All rows
 * come from one snapshot, and a part of summaries is queried after the one before was consumed. Rejects with `ElasticsearchUnavailable`, also
 * if Elasticsearch returns fewer rows than it counted.
 */
export async function* exportList(
  client: SearchClient,
  kind: EntityType,
  teamId: TeamId,
  { filters, view, deletions }: ExportContent,
  runQuery: RunQuery,
): AsyncGenerator<readonly Buffer[], void, undefined> {
  const snapshot = await runQuery((signal) => openListSnapshot(client, kind, teamId, { lifeMs: exportLifeMs, signal }))
  try {
    if (view === 'full') yield* wholeEntities(client, kind, teamId, snapshot, filters, runQuery)
    else for await (const { rows } of listRows(snapshot, kind, filters, runQuery)) if (rows.length > 0) yield rows
    if (deletions !== undefined) yield* exportDeletions(snapshot, deletions, runQuery)
  } finally {
    snapshot.close()
  }
}

/** Yields one page of a list like an export: its rows in parts, each with the total of the list. At least one part, which may be empty. */
export async function* exportPage(
  client: SearchClient,
  kind: EntityType,
  teamId: TeamId,
  filters: Filters,
  { page, limit }: PageRequest,
  runQuery: RunQuery,
): AsyncGenerator<{ readonly total: number; readonly rows: readonly Buffer[] }, void, undefined> {
  const snapshot = await runQuery((signal) => openListSnapshot(client, kind, teamId, { lifeMs: exportLifeMs, signal }))
  try {
    yield* listRows(snapshot, kind, filters, runQuery, { offset: (page - 1) * limit, limit })
  } finally {
    snapshot.close()
  }
}

/** The next ids are found while details are read, and the next details while a client reads. */
function wholeEntities(
  client: SearchClient,
  kind: EntityType,
  teamId: TeamId,
  snapshot: ListSnapshot,
  filters: Filters,
  runQuery: RunQuery,
): AsyncGenerator<readonly Buffer[], void, undefined> {
  const size = new PartSize()
  const ids = listIds(snapshot, kind, filters, () => partsOfIds * size.rows, runQuery)
  return readAhead(readWholeEntities(client, kind, teamId, readAhead(ids), size, runQuery))
}

/** An indexer repeats what it could not store: a detail may come later than its row. */
const attempts = 8
const pauseMs = 250

/**
 * The details of entities whose ids come in pages, in the same order, in parts of this size or, where some are large, of bounded bytes. They are as new as what a search finds now, so at least as new as the
 * snapshot of the ids. An entity that was deleted after the snapshot is left out: its deletion has not been covered by any watermark
 * that was published before the snapshot. Rejects with `ElasticsearchUnavailable`, also if an entity has no detail.
 */
export async function* readWholeEntities(
  client: SearchClient,
  kind: EntityType,
  teamId: TeamId,
  pages: AsyncIterable<readonly EntityId[]>,
  size: PartSize,
  runQuery: RunQuery,
): AsyncGenerator<readonly Buffer[], void, undefined> {
  for await (const page of pages) {
    for (let at = 0, ids = page; at < page.length; at += ids.length) {
      ids = page.slice(at, at + size.rows)
      const parts = await runQuery((signal) => detailParts(client, kind, teamId, ids, signal))
      let from = 0
      for (const { rows: count, bytes } of parts) {
        const read: ReadAgain = (some, isRealtime) =>
          runQuery((signal) => readDetails(client, detailKinds[kind], teamId, some, isRealtime, signal), bytes)
        const rows = await readPart(ids.slice(from, from + count), read)
        from += count
        if (rows.length === 0) continue
        size.noteRows(rows)
        yield rows
      }
    }
  }
}

type ReadAgain = (ids: readonly EntityId[], isRealtime: boolean) => Promise<readonly Detail[]>

async function readPart(ids: readonly EntityId[], read: ReadAgain): Promise<readonly Buffer[]> {
  const details = await read(ids, false)
  const found = details.includes('missing') ? await findMissing(ids, details, read) : details
  return found.filter((detail): detail is Buffer => detail instanceof Buffer)
}

/** The same details with those that were missing. They may be stored without being searchable yet, or not be stored yet. */
async function findMissing(
  ids: readonly EntityId[],
  details: readonly Detail[],
  read: ReadAgain,
): Promise<readonly Detail[]> {
  const found = [...details]
  for (let attempt = 1; ; attempt++) {
    const missing = [...found.keys()].filter((at) => found[at] === 'missing')
    if (missing.length === 0) return found
    if (attempt > attempts) throw new ElasticsearchUnavailable('partial', `${missing.length} rows have no detail`)
    if (attempt > 1) await sleep(pauseMs)
    const again = await read(
      missing.flatMap((at) => ids[at] ?? []),
      true,
    )
    for (const [index, at] of missing.entries()) found[at] = again[index] ?? 'missing'
  }
}

const deletionsPerPart = 2_000

/**
 * Yields a line for each deleted entity whose tombstone matches the filter, in no particular order. A tombstone has no created time:
 * it is found by its place in the snapshot, which needs no sorting. Rejects with `ElasticsearchUnavailable`, also if Elasticsearch
 * returns another number than it counted.
 */
export async function* exportDeletions(
  snapshot: ListSnapshot,
  filter: readonly Clause[],
  runQuery: RunQuery,
): AsyncGenerator<readonly Buffer[], void, undefined> {
  let [found, expected, after] = [0, undefined as number | undefined, undefined as number | undefined]
  for (;;) {
    const { ids, last, total } = await runQuery((signal) => snapshot.deletions(filter, after, deletionsPerPart, signal))
    expected ??= total
    if (ids.length > 0) yield ids.map((id) => Buffer.from(JSON.stringify({ id, deleted: true })))
    found += ids.length
    after = last
    if (ids.length < deletionsPerPart) break
  }
  if (found !== expected) throw new ElasticsearchUnavailable('partial', `${found} deletions of ${expected}`)
}

/** The same parts, each one asked for while the one before is consumed. One part more is held in memory. */
export async function* readAhead<Part>(
  parts: AsyncGenerator<Part, void, undefined>,
): AsyncGenerator<Part, void, undefined> {
  const request = (): Promise<IteratorResult<Part, void>> => {
    const part = parts.next()
    // It may fail long before somebody waits for it.
    part.catch(() => undefined)
    return part
  }
  try {
    for (let next = request(); ; ) {
      const part = await next
      if (part.done) return
      next = request()
      yield part.value
    }
  } finally {
    await parts.return()
  }
}

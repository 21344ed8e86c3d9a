import type { TeamId } from '../../core/model/ids.ts'
import type { EntityType } from '../../core/model/teamList.ts'
import type { Clause } from './clauses.ts'
import type { RowKey } from './hits.ts'
import { type ListSnapshot, openListSnapshot } from './listSnapshot.ts'
import type { PageRequest } from './page.ts'
import { PartSize, readParts } from './parts.ts'
import { ElasticsearchUnavailable, type RunQuery, type SearchClient } from './searchClient.ts'
import { type Filters, findPageKeys, firstFound } from './searchPage.ts'
import { walkList } from './walkList.ts'
import { readWholeEntities } from './wholeEntities.ts'

/** What an export holds. */
export type ExportContent = {
  readonly filters: Filters
  /** Whether an item is its summary, or what the endpoint of a single entity answers. */
  readonly view: 'summary' | 'full'
  /** Selects tombstones, whose entities follow the items; undefined for none. */
  readonly deletions: readonly Clause[] | undefined
}

/** The keep-alive of the snapshot: how long a client may take to read what is asked for at once. */
const exportLifeMs = 120_000
/** Keys have less than 4 MiB together, however long the ids are. */
const maxKeys = 5_000
/** For how many parts of details keys are found at once: while these are read, the snapshot is not. */
const partsOfKeys = 4

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
    const size = new PartSize()
    if (view === 'full') {
      const keys = walkList(snapshot, filters, () => partsOfKeys * size.rows, runQuery)
      yield* readAhead(readWholeEntities(client, kind, teamId, keys, size, runQuery))
    } else {
      for await (const keys of walkList(snapshot, filters, () => maxKeys, runQuery))
        yield* readRows(snapshot, keys, size, runQuery)
    }
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
  request: PageRequest,
  runQuery: RunQuery,
): AsyncGenerator<{ readonly total: number; readonly rows: readonly Buffer[] }, void, undefined> {
  const snapshot = await runQuery((signal) => openListSnapshot(client, kind, teamId, { lifeMs: exportLifeMs, signal }))
  try {
    const { total, keys } = await firstFound(filters, (filter) =>
      runQuery((signal) => findPageKeys(snapshot, filter, request, signal)),
    )
    if (keys.length === 0) yield { total, rows: [] }
    for await (const rows of readRows(snapshot, keys, new PartSize(), runQuery)) yield { total, rows }
  } finally {
    snapshot.close()
  }
}

/** The rows of these keys in parts. */
const readRows = (
  snapshot: ListSnapshot,
  keys: readonly RowKey[],
  size: PartSize,
  runQuery: RunQuery,
): AsyncGenerator<readonly Buffer[], void, undefined> =>
  readParts(
    keys,
    keys.map(({ bytes }) => bytes),
    size,
    (some, bytes) => runQuery((signal) => snapshot.rowsOf(some, signal), bytes),
  )

const deletionsPerPart = 2_000

/**
 * Yields a line for each deleted entity whose tombstone matches the filter, in no particular order. A tombstone has no created time:
 * it is found by its place in the snapshot, which needs no sorting. Rejects with `ElasticsearchUnavailable`, also if Elasticsearch
 * returns another number than it counted.
 */
async function* exportDeletions(
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

import type { TeamId } from '../../core/model/ids.ts'
import type { EntityType } from '../../core/model/teamList.ts'
import type { Clause } from './clauses.ts'
import { CountedSnapshot, createCountCache } from './countedSnapshot.ts'
import { exportDeletions } from './exportDeletions.ts'
import { readWholeEntities } from './exportWhole.ts'
import type { KeyRange } from './findPage.ts'
import { type ListSnapshot, openListSnapshot } from './listSnapshot.ts'
import { PartSize } from './partSize.ts'
import { readAhead } from './readAhead.ts'
import type { RunQuery } from './runQuery.ts'
import { ElasticsearchUnavailable, type SearchClient } from './searchClient.ts'
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

const maxCountedBytes = 1024 * 1024

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
    else yield* summaries(snapshot, kind, filters, runQuery)
    if (deletions !== undefined) yield* exportDeletions(snapshot, deletions, runQuery)
  } finally {
    snapshot.close()
  }
}

async function* summaries(
  snapshot: ListSnapshot,
  kind: EntityType,
  filters: Filters,
  runQuery: RunQuery,
): AsyncGenerator<readonly Buffer[], void, undefined> {
  const size = new PartSize()
  const read: ReadRange<Buffer> = (...range) => snapshot.rows(...range)
  for await (const rows of parts(snapshot, kind, filters, () => size.rows, read, runQuery)) {
    size.noteRows(rows)
    yield rows
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
  const limit = (): number => partsOfIds * size.rows
  const ids = parts(snapshot, kind, filters, limit, (...range) => snapshot.ids(...range), runQuery)
  return readAhead(readWholeEntities(client, kind, teamId, readAhead(ids), size, runQuery))
}

type ReadRange<Row> = (
  filter: readonly Clause[],
  range: KeyRange,
  limit: number,
  signal: AbortSignal,
) => Promise<readonly Row[]>

/** Every row of the first filter that finds any, in parts of at most so many rows as `maxRows` says each time. */
async function* parts<Row>(
  snapshot: ListSnapshot,
  kind: EntityType,
  filters: Filters,
  maxRows: () => number,
  read: ReadRange<Row>,
  runQuery: RunQuery,
): AsyncGenerator<readonly Row[], void, undefined> {
  const counted = new CountedSnapshot(snapshot, createCountCache(maxCountedBytes), { name: 'export', list: kind })
  for (const filter of filters) {
    for (let offset = 0; ; ) {
      const limit = maxRows()
      const { total, rows } = await runQuery(async (signal) => {
        const { total, range } = await counted.locate(filter, { offset, limit }, signal)
        return { total, rows: range === undefined ? [] : await read(filter, range, limit, signal) }
      })
      if (total === 0) break
      if (rows.length === 0) throw new ElasticsearchUnavailable('partial', `${offset} rows of ${total}`)
      yield rows
      offset += rows.length
      if (offset >= total) return
    }
  }
}

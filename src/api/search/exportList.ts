import type { TeamId } from '../../core/model/ids.ts'
import type { EntityType } from '../../core/model/teamList.ts'
import type { Clause } from './clauses.ts'
import { exportDeletions } from './exportDeletions.ts'
import { readWholeEntities } from './exportWhole.ts'
import { listIds, listRows } from './listParts.ts'
import { type ListSnapshot, openListSnapshot } from './listSnapshot.ts'
import type { PageRequest } from './page.ts'
import { PartSize } from './partSize.ts'
import { readAhead } from './readAhead.ts'
import type { RunQuery } from './runQuery.ts'
import type { SearchClient } from './searchClient.ts'
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

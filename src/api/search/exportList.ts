import type { TeamId } from '../../core/model/ids.ts'
import type { EntityType } from '../../core/model/teamList.ts'
import { CountedSnapshot, createCountCache } from './countedSnapshot.ts'
import { openListSnapshot } from './listSnapshot.ts'
import { ElasticsearchUnavailable, type SearchClient } from './searchClient.ts'
import type { Filters } from './searchPage.ts'

/** Runs one query in the team's turn; `signal` aborts it at its own deadline. */
export type RunQuery = <Answer>(send: (signal: AbortSignal) => Promise<Answer>) => Promise<Answer>

/** The keep-alive of the snapshot: how long a client may take to read one part. */
const exportLifeMs = 120_000

const maxCountedBytes = 1024 * 1024
const firstRows = 100
const maxRows = 500
/** The target size of a part. It is exceeded only if its rows are much larger than those of the part before. */
const partBytes = 512 * 1024

/**
 * Yields every row of a team's list as raw bytes, newest first, in parts: the rows of the first filter that finds any. All rows
 * come from one snapshot, and a part is queried after the one before was consumed. Rejects with `ElasticsearchUnavailable`, also if
 * Elasticsearch returns fewer rows than it counted.
 */
export async function* exportList(
  client: SearchClient,
  kind: EntityType,
  teamId: TeamId,
  filters: Filters,
  runQuery: RunQuery,
): AsyncGenerator<readonly Buffer[], void, undefined> {
  const snapshot = await runQuery((signal) => openListSnapshot(client, kind, teamId, { lifeMs: exportLifeMs, signal }))
  try {
    const counted = new CountedSnapshot(snapshot, createCountCache(maxCountedBytes), { name: 'export', list: kind })
    for (const filter of filters) {
      let [offset, limit] = [0, firstRows]
      for (;;) {
        const { total, rows } = await runQuery((signal) => counted.page(filter, { offset, limit }, signal))
        if (total === 0) break
        if (rows.length === 0) throw new ElasticsearchUnavailable('partial', `${offset} rows of ${total}`)
        yield rows
        offset += rows.length
        if (offset >= total) return
        limit = rowsIn(partBytes, rows)
      }
    }
  } finally {
    snapshot.close()
  }
}

/** How many rows of this average size fit into so many bytes. */
function rowsIn(bytes: number, rows: readonly Buffer[]): number {
  const length = rows.reduce((sum, row) => sum + row.length, 0)
  return Math.min(maxRows, Math.max(1, Math.floor((bytes * rows.length) / Math.max(1, length))))
}

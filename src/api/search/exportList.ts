import type { TeamId } from '../../core/model/ids.ts'
import type { EntityType } from '../../core/model/teamList.ts'
import type { Clause } from './clauses.ts'
import { countedSnapshot, countMemory } from './countedSnapshot.ts'
import { openListSnapshot } from './listSnapshot.ts'
import type { SearchClient } from './searchClient.ts'
import { ReplicaUnavailable } from './unavailable.ts'

/** Runs one question to Elasticsearch within a time of its own. */
export type Within = <Answer>(ask: (signal: AbortSignal) => Promise<Answer>) => Promise<Answer>

/** How long a reader may take over one part: Elasticsearch forgets the snapshot after it. */
export const exportLifeMs = 120_000

const maxCountedBytes = 1024 * 1024
const firstRows = 100
const maxRows = 500
/** A part is about as large, unless its rows are many times larger than those of the part before. */
const partBytes = 512 * 1024

/**
 * Every row of a team's list, newest first, part by part, as raw bytes: what the first filter finds that finds anything. All of
 * it is of one moment, and a part is asked for when the one before was taken. Rejects with `ReplicaUnavailable`, also when
 * Elasticsearch gives fewer rows than it counted.
 */
export async function* exportList(
  asking: SearchClient,
  kind: EntityType,
  teamId: TeamId,
  filters: readonly (readonly Clause[])[],
  within: Within,
): AsyncGenerator<readonly Buffer[], void, undefined> {
  const snapshot = await within((signal) => openListSnapshot(asking, kind, teamId, { lifeMs: exportLifeMs, signal }))
  try {
    const counted = countedSnapshot(snapshot, countMemory(maxCountedBytes), { name: 'export', list: kind })
    for (const filter of filters) {
      let [offset, limit] = [0, firstRows]
      for (;;) {
        const { total, rows } = await within((signal) => counted.page(filter, { offset, limit }, signal))
        if (total === 0) break
        if (rows.length === 0) throw new ReplicaUnavailable('partial', `${offset} rows of ${total}`)
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

/** How many rows like these are about so many bytes. */
export function rowsIn(bytes: number, rows: readonly Buffer[]): number {
  const length = rows.reduce((sum, row) => sum + row.length, 0)
  return Math.min(maxRows, Math.max(1, Math.floor((bytes * rows.length) / Math.max(1, length))))
}

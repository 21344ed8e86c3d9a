import { setTimeout as sleep } from 'node:timers/promises'
import type { EntityId, TeamId } from '../../core/model/ids.ts'
import type { EntityType } from '../../core/model/teamList.ts'
import { type Detail, detailKinds, readDetails } from './details.ts'
import type { RowKey } from './hits.ts'
import { weighDetails } from './large.ts'
import { type PartSize, readParts } from './parts.ts'
import { ElasticsearchUnavailable, type RunQuery, type SearchClient } from './searchClient.ts'

/**
 * The details of entities whose keys come in pages, in the same order, in parts. They are as new as what a search finds now, so at least as new
 * as the snapshot of the keys. An entity that was deleted after the snapshot is left out: its deletion has not been covered by any watermark
 * that was published before the snapshot. Rejects with `ElasticsearchUnavailable`, also if an entity has no detail.
 */
export async function* readWholeEntities(
  client: SearchClient,
  kind: EntityType,
  teamId: TeamId,
  pages: AsyncIterable<readonly Pick<RowKey, 'id'>[]>,
  size: PartSize,
  runQuery: RunQuery,
): AsyncGenerator<readonly Buffer[], void, undefined> {
  for await (const page of pages) {
    for (let at = 0, ids: readonly EntityId[]; at < page.length; at += ids.length) {
      ids = page.slice(at, at + size.rows).map(({ id }) => id)
      // Weighed just before they are read: reading them cannot be cancelled.
      const weights = await runQuery((signal) => weighDetails(client, kind, teamId, ids, signal))
      const readOf =
        (bytes: number): ReadDetails =>
        (some, isRealtime) =>
          runQuery((signal) => readDetails(client, detailKinds[kind], teamId, some, isRealtime, signal), bytes)
      for await (const rows of readParts(ids, weights, size, (some, bytes) => readAll(some, readOf(bytes))))
        if (rows.length > 0) yield rows
    }
  }
}

/** An indexer repeats what it could not store: a detail may come later than its row. */
const attempts = 8
const pauseMs = 250

type ReadDetails = (ids: readonly EntityId[], isRealtime: boolean) => Promise<readonly Detail[]>

async function readAll(ids: readonly EntityId[], read: ReadDetails): Promise<readonly Buffer[]> {
  const details = await read(ids, false)
  const found = details.includes('missing') ? await findMissing(ids, details, read) : details
  return found.filter((detail): detail is Buffer => detail instanceof Buffer)
}

/** The same details with those that were missing. They may be stored without being searchable yet, or not be stored yet. */
async function findMissing(
  ids: readonly EntityId[],
  details: readonly Detail[],
  read: ReadDetails,
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

import { setTimeout as sleep } from 'node:timers/promises'
import type { EntityId, TeamId } from '../../core/model/ids.ts'
import type { EntityType } from '../../core/model/teamList.ts'
import { detailParts } from './largeParts.ts'
import type { PartSize } from './partSize.ts'
import { type Detail, detailKinds, readDetails } from './readDetails.ts'
import type { RunQuery } from './runQuery.ts'
import { ElasticsearchUnavailable, type SearchClient } from './searchClient.ts'

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

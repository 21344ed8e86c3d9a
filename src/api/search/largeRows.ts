import { type EntityPart, largeBytes } from '../../core/elasticsearch/documentFormat.ts'
import { documentId, type EntityId, isIdentifier, teamList } from '../../core/model/ids.ts'
import { keysOnly, largeRowsOf, newestFirst } from './clauses.ts'
import { keysIn, type RowKey, searchTeam } from './hits.ts'
import { hasAny, type VersionedList } from './indexReader.ts'
import type { RunQuery } from './queryTurns.ts'
import type { SearchedList } from './searchClient.ts'

/*
 * A summary or detail above `largeBytes` (16 KiB) is large. The indexer stores the sizes of large ones only, so a reader has upper bounds for all
 * before it requests them.
 */

/** Cached for the list version: after a refresh has made a large row searchable, a cached `false` remains until the indexer replaces the version. */
export async function hasLarge(list: VersionedList, entityPart: EntityPart, runQuery: RunQuery): Promise<boolean> {
  const { type, teamId, version, largeParts } = list
  const cacheKey = `${teamList(type, teamId)} ${entityPart}`
  const cached = largeParts.get(cacheKey)
  if (version !== null && cached?.version === version) return cached.hasLarge
  const isAnyLarge = await runQuery((signal) => hasAny(list, largeRowsOf(teamId, entityPart), signal))
  if (version !== null) largeParts.set(cacheKey, { version, hasLarge: isAnyLarge })
  return isAnyLarge
}

/** An upper bound in bytes. `id` may be any text. */
export async function weighDetail(list: VersionedList, id: string, runQuery: RunQuery): Promise<number> {
  if (!isIdentifier(id) || !(await hasLarge(list, 'detail', runQuery))) return largeBytes
  const [bytes] = await runQuery((signal) => weighDetails(list, [id as EntityId], signal))
  return bytes ?? largeBytes
}

/** Upper bounds in the order of `ids`; undefined for details that are not large. */
export async function weighDetails(
  list: SearchedList,
  ids: readonly EntityId[],
  signal: AbortSignal,
): Promise<readonly (number | undefined)[]> {
  const withId = { ids: { values: ids.map((id) => documentId(list.teamId, id)) } }
  // Without a large detail, the first filter matches nothing, and Elasticsearch looks up no id.
  const query = { bool: { filter: [largeRowsOf(list.teamId, 'detail'), withId] } }
  const body = { query, sort: newestFirst, size: ids.length, track_total_hits: false, ...keysOnly('detail') }
  const keys = keysIn(await searchTeam(list, body, signal), 'detail')
  const largeDetails = new Map(keys.map(({ id, bytes }) => [id, bytes]))
  return ids.map((id) => largeDetails.get(id))
}

/** Rows as JSON, a part at a time. */
export type Rows = AsyncGenerator<readonly Buffer[], void, undefined>
export type KeyBatches<Key> = AsyncIterable<readonly Key[]> | Iterable<readonly Key[]>

/** Target and maximum bytes of a part. A larger row is a part of its own. */
const partBytes = 512 * 1024
export const mostPartBytes = 4 * 1024 * 1024
/** Expected to fit into `partBytes`, before any row was read. */
const rowsOfFirstPart = 100
/** So many always fit, if none is large. */
export const maxRowsOfPart = mostPartBytes / largeBytes

/**
 * Reads rows in parts of about `partBytes`. Small rows are expected to have the mean size of those in the part before. `mostBytes`: an upper bound
 * for the rows of a part.
 */
export async function* readParts<Key extends Pick<RowKey, 'bytes'>>(
  batches: KeyBatches<Key>,
  read: (part: readonly Key[], mostBytes: number) => Promise<readonly Buffer[]>,
): Rows {
  let expectedRowBytes = Math.floor(partBytes / rowsOfFirstPart)
  for await (const keys of batches) {
    let start = 0
    while (start < keys.length) {
      const part = nextPart(keys.slice(start, start + maxRowsOfPart), expectedRowBytes)
      start += part.length
      const rows = await read(part, mostBytesOf(part))
      const smallRows = rows.filter(({ length }) => length <= largeBytes)
      const smallBytes = smallRows.reduce((sum, { length }) => sum + length, 0)
      if (smallRows.length > 0) expectedRowBytes = Math.max(1, smallBytes / smallRows.length)
      if (rows.length > 0) yield rows
    }
  }
}

/** At least one key. */
function nextPart<Key extends Pick<RowKey, 'bytes'>>(keys: readonly Key[], expectedRowBytes: number): readonly Key[] {
  let expectedBytes = 0
  let mostBytes = 0
  const end = keys.findIndex(({ bytes }, index) => {
    expectedBytes += bytes ?? expectedRowBytes
    mostBytes += bytes ?? largeBytes
    return index > 0 && (expectedBytes > partBytes || mostBytes > mostPartBytes)
  })
  return end === -1 ? keys : keys.slice(0, end)
}

export const mostBytesOf = (keys: readonly Pick<RowKey, 'bytes'>[]): number =>
  keys.reduce((sum, { bytes = largeBytes }) => sum + bytes, 0)

import { documentId, type EntityId, isIdentifier, teamList } from '../../core/model/ids.ts'
import { type EntityPart, largeBytes } from '../../core/stores/documentFormat.ts'
import { keysOnly, largeOf, newestFirst } from './clauses.ts'
import { keysIn, type RowKey, searchTeam } from './hits.ts'
import { hasAny, type ListAt } from './indexReader.ts'
import type { RunQuery, SearchedList } from './searchClient.ts'

/** Whether this part of any row is large. Asked once for each version of the list: until that is replaced, rows become large by one refresh only. */
export async function hasLarge(list: ListAt, part: EntityPart, runQuery: RunQuery): Promise<boolean> {
  const { type, teamId, version, largeParts } = list
  const name = `${teamList(type, teamId)} ${part}`
  const known = largeParts.get(name)
  if (version !== null && known?.version === version) return known.hasLarge
  const found = await runQuery((signal) => hasAny(list, largeOf(teamId, part), signal))
  if (version !== null) largeParts.set(name, { version, hasLarge: found })
  return found
}

/** At most how many bytes the detail of an entity has, whatever text its id is. */
export async function weighDetail(list: ListAt, id: string, runQuery: RunQuery): Promise<number> {
  if (!isIdentifier(id) || !(await hasLarge(list, 'detail', runQuery))) return largeBytes
  const [bytes] = await runQuery((signal) => weighDetails(list, [id as EntityId], signal))
  return bytes ?? largeBytes
}

/** At most how many bytes each of these details has now; undefined for one that is not large. */
export async function weighDetails(
  list: SearchedList,
  ids: readonly EntityId[],
  signal: AbortSignal,
): Promise<readonly (number | undefined)[]> {
  const named = { ids: { values: ids.map((id) => documentId(list.teamId, id)) } }
  // Where the team has no large detail, Elasticsearch looks no id up.
  const query = { bool: { filter: [largeOf(list.teamId, 'detail'), named] } }
  const body = { query, sort: newestFirst, size: ids.length, track_total_hits: false, ...keysOnly('detail') }
  const keys = keysIn(await searchTeam(list, body, signal), 'detail')
  const large = new Map(keys.map(({ id, bytes }) => [id, bytes]))
  return ids.map((id) => large.get(id))
}

export type Rows = AsyncGenerator<readonly Buffer[], void, undefined>
export type Pages<Key> = AsyncIterable<readonly Key[]> | Iterable<readonly Key[]>

/** The size that a part is meant to have, and that it may have if all of its rows are as large as they may be. */
const [partBytes, mostPartBytes] = [512 * 1024, 4 * 1024 * 1024]
const firstRows = 100
/** So many rows that are not large have at most `mostPartBytes` together. */
export const maxRows = mostPartBytes / largeBytes

/**
 * Reads what belongs to these keys in parts of about `partBytes`: a large row has the bytes that its key tells, others are expected to be
 * like those before. A row that is larger than a part is a part. `bytes`: the most that a part has.
 */
export async function* readParts<Key extends Pick<RowKey, 'bytes'>>(
  pages: Pages<Key>,
  read: (part: readonly Key[], bytes: number) => Promise<readonly Buffer[]>,
): Rows {
  let expected = Math.floor(partBytes / firstRows)
  for await (const keys of pages)
    for (let at = 0, part: readonly Key[]; at < keys.length; at += part.length) {
      part = nextPart(keys.slice(at, at + maxRows), expected)
      const rows = await read(part, mostBytesOf(part))
      const small = rows.filter(({ length }) => length <= largeBytes)
      if (small.length > 0) expected = Math.max(1, small.reduce((sum, { length }) => sum + length, 0) / small.length)
      if (rows.length > 0) yield rows
    }
}

function nextPart<Key extends Pick<RowKey, 'bytes'>>(keys: readonly Key[], expectedBytes: number): readonly Key[] {
  let [expected, most] = [0, 0]
  const end = keys.findIndex(({ bytes }, at) => {
    expected += bytes ?? expectedBytes
    most += bytes ?? largeBytes
    return at > 0 && (expected > partBytes || most > mostPartBytes)
  })
  return end === -1 ? keys : keys.slice(0, end)
}

/** At most how many bytes rows have together. */
export const mostBytesOf = (keys: readonly Pick<RowKey, 'bytes'>[]): number =>
  keys.reduce((sum, { bytes = largeBytes }) => sum + bytes, 0)

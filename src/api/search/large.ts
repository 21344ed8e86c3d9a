import { documentId, type EntityId, isIdentifier, type TeamId } from '../../core/model/ids.ts'
import { type EntityType, teamList } from '../../core/model/teamList.ts'
import { type EntityPart, largeBytes } from '../../core/stores/documents.ts'
import { anyAtAll, bytesOf, largeOf, newestFirst, noDocuments } from './clauses.ts'
import { readKeys, searchTeam, totalOf } from './hits.ts'
import type { IndexReader, ListReader } from './indexReader.ts'
import type { RunQuery, SearchClient } from './searchClient.ts'

/** The list of a team, at its version; null while that is unknown. */
type ListAt = Pick<ListReader, 'teamId' | 'version'>

/**
 * Whether this part of any row of a list is large. Asked once for each version of the list, after that without a turn: until the version is
 * replaced, rows can become large by one refresh only. Rejects with `ElasticsearchUnavailable`.
 */
export async function hasLarge(
  indexReader: IndexReader,
  kind: EntityType,
  part: EntityPart,
  { teamId, version }: ListAt,
  runQuery: RunQuery,
): Promise<boolean> {
  const name = `${teamList(kind, teamId)} ${part}`
  const known = indexReader.largeParts.get(name)
  if (version !== null && known?.version === version) return known.hasLarge
  const body = { query: largeOf(teamId, part), ...anyAtAll }
  const found = totalOf(await runQuery((signal) => searchTeam(indexReader, kind, teamId, body, signal))) > 0
  if (version !== null) indexReader.largeParts.set(name, { version, hasLarge: found })
  return found
}

/** At most how many bytes the detail of an entity has, whatever text its id is. Rejects with `ElasticsearchUnavailable`. */
export async function weighDetail(
  indexReader: IndexReader,
  kind: EntityType,
  list: ListAt,
  id: string,
  runQuery: RunQuery,
): Promise<number> {
  if (!isIdentifier(id) || !(await hasLarge(indexReader, kind, 'detail', list, runQuery))) return largeBytes
  const [bytes] = await runQuery((signal) => weighDetails(indexReader, kind, list.teamId, [id as EntityId], signal))
  return bytes ?? largeBytes
}

/** At most how many bytes each of these details has now; undefined for one that is not large. Rejects with `ElasticsearchUnavailable`. */
export async function weighDetails(
  client: SearchClient,
  kind: EntityType,
  teamId: TeamId,
  ids: readonly EntityId[],
  signal: AbortSignal,
): Promise<readonly (number | undefined)[]> {
  const body = {
    // Where the team has none, Elasticsearch looks no id up.
    query: {
      bool: { filter: [largeOf(teamId, 'detail'), { ids: { values: ids.map((id) => documentId(teamId, id)) } }] },
    },
    sort: newestFirst,
    size: ids.length,
    track_total_hits: false,
    ...noDocuments,
    docvalue_fields: [{ field: bytesOf('detail') }],
  }
  const { keys } = await searchTeam(client, kind, teamId, body, signal, (bytes) => readKeys(bytes, 'detail'))
  const large = new Map(keys.map(({ id, bytes }) => [id, bytes]))
  return ids.map((id) => large.get(id))
}

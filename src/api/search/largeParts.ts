import { documentId, type EntityId, type TeamId } from '../../core/model/ids.ts'
import type { EntityType } from '../../core/model/teamList.ts'
import { type EntityPart, largeBytes } from '../../core/stores/documents.ts'
import { aliasOf } from '../../core/stores/indices.ts'
import { type Clause, countOnly } from './clauses.ts'
import { readWeights, totalOf } from './hits.ts'
import { ElasticsearchUnavailable, type SearchClient, teamShard } from './searchClient.ts'
import { searchTeam } from './searches.ts'

/** The target size of what one request to Elasticsearch returns. A single row or detail may be larger. */
export const partBytes = 1024 * 1024

/** Finds the entities of a team of which this part is large. */
export const largeOf = (teamId: TeamId, part: EntityPart): Clause => ({
  bool: { filter: [{ term: { [`large.${part}Of`]: teamId } }] },
})

/** The field that tells how many bytes a large part has. */
export const bytesOf = (part: EntityPart): string => `large.${part}Bytes`

/** Elasticsearch stops at the first one. */
export const anyAtAll = { ...countOnly, terminate_after: 1 }

/** Whether this part is large in any entity of the team, as a search finds it now. Rejects with `ElasticsearchUnavailable`. */
export async function hasLarge(
  client: SearchClient,
  kind: EntityType,
  teamId: TeamId,
  part: EntityPart,
  signal: AbortSignal,
): Promise<boolean> {
  const answer = await searchTeam(client, kind, teamId, { query: largeOf(teamId, part), ...anyAtAll }, signal)
  return totalOf(answer) > 0
}

/** Divides the details of these entities into parts, by how large they are now. Rejects with `ElasticsearchUnavailable`. */
export async function detailParts(
  client: SearchClient,
  kind: EntityType,
  teamId: TeamId,
  ids: readonly EntityId[],
  signal: AbortSignal,
): Promise<readonly Part[]> {
  if (!(await hasLarge(client, kind, teamId, 'detail', signal)))
    return [{ rows: ids.length, bytes: ids.length * largeBytes }]
  const names = ids.map((id) => documentId(teamId, id))
  const body = {
    query: { bool: { filter: [largeOf(teamId, 'detail'), { ids: { values: names } }] } },
    size: ids.length,
    track_total_hits: false,
    _source: false,
    docvalue_fields: [{ field: bytesOf('detail') }],
  }
  const path = `/${aliasOf(client.indexPrefix, kind)}/_search`
  const querystring = { ...teamShard(teamId), allow_partial_search_results: false }
  const { isFound, bytes } = await client.send({ method: 'POST', path, querystring, body }, signal)
  if (!isFound) throw new ElasticsearchUnavailable('missing-index', kind)
  const { weights } = readWeights(bytes, 'detail')
  const found = new Map(weights.map(({ id, bytes: weight }) => [id, weight]))
  return partsOf(names.map((name) => found.get(name) ?? largeBytes))
}

/** Neighbouring rows that are read together, and at most how many bytes they have. */
type Part = { readonly rows: number; readonly bytes: number }

/** Divides rows of these weights, in their order, into parts of `partBytes` at most, or of one row. */
export function partsOf(weights: readonly number[]): readonly Part[] {
  const parts: { rows: number; bytes: number }[] = []
  for (const weight of weights) {
    const last = parts.at(-1)
    if (last === undefined || last.bytes + weight > partBytes) parts.push({ rows: 1, bytes: weight })
    else {
      last.rows++
      last.bytes += weight
    }
  }
  return parts
}

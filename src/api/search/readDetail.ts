import { documentId, type EntityId, isIdentifier, type TeamId } from '../../core/model/ids.ts'
import { isTombstone } from '../../core/stores/documents.ts'
import { aliasOf } from '../../core/stores/indices.ts'
import { ElasticsearchUnavailable, type SearchClient, teamShard } from './searchClient.ts'

/** The error type of a document that is missing in an existing index. */
const missingDocument = '"type":"resource_not_found_exception"'

/**
 * The stored detail of an entity of the team, as raw bytes; undefined if there is none, if it was deleted, and for text that is no
 * valid id. It is as new as what a search finds: before the refresh, a client could see a change here and miss it in its next
 * answer. Rejects with `ElasticsearchUnavailable`.
 */
export async function readDetail(
  { indexPrefix, send }: SearchClient,
  kind: 'form-details' | 'submission-details',
  teamId: TeamId,
  id: string,
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  if (!isIdentifier(id)) return undefined
  const path = `/${aliasOf(indexPrefix, kind)}/_source/${encodeURIComponent(documentId(teamId, id as EntityId))}`
  const querystring = { ...teamShard(teamId), realtime: false }
  const { isFound, bytes } = await send({ method: 'GET', path, querystring }, signal)
  if (isFound) return isTombstone(bytes) ? undefined : bytes
  if (bytes.includes(missingDocument)) return undefined
  throw new ElasticsearchUnavailable('missing-index', kind)
}

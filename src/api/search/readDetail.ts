import { documentId, type EntityId, isIdentifier, type TeamId } from '../../core/model/ids.ts'
import { isTombstone } from '../../core/stores/documents.ts'
import { aliasOf } from '../../core/stores/indices.ts'
import type { SearchClient } from './searchClient.ts'
import { ReplicaUnavailable } from './unavailable.ts'

/** How Elasticsearch says that there is no such document in an index that there is. */
const missingDocument = '"type":"resource_not_found_exception"'

/**
 * The single answer that is stored for an entity of the team, as raw bytes; undefined when there is none, when it was deleted,
 * and for text that cannot be an id. Rejects with `ReplicaUnavailable`.
 */
export async function readDetail(
  { indexPrefix, ask }: SearchClient,
  kind: 'form-details' | 'submission-details',
  teamId: TeamId,
  id: string,
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  if (!isIdentifier(id)) return undefined
  const path = `/${aliasOf(indexPrefix, kind)}/_source/${encodeURIComponent(documentId(teamId, id as EntityId))}`
  const { isFound, bytes } = await ask({ method: 'GET', path, querystring: { routing: teamId } }, signal)
  if (isFound) return isTombstone(bytes) ? undefined : bytes
  if (bytes.includes(missingDocument)) return undefined
  throw new ReplicaUnavailable('missing-index', kind)
}

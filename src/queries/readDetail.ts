import { deletedRevision, documentId, type EntityId, isIdentifier, type TeamId } from '../domain/identifiers.ts'
import { rawMembers } from '../domain/rawJson.ts'
import { aliasOf } from '../replica/indices.ts'
import type { Replica } from './replica.ts'
import { ReplicaUnavailable } from './unavailable.ts'

/**
 * The single answer that is stored for an entity of the team, as raw text; undefined when there is none, when it was deleted,
 * and for text that cannot be an id. Rejects with `ReplicaUnavailable`.
 */
export async function readDetail(
  { indexPrefix, ask }: Replica,
  kind: 'form-details' | 'submission-details',
  teamId: TeamId,
  id: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!isIdentifier(id)) return undefined
  const path = `/${aliasOf(indexPrefix, kind)}/_doc/${encodeURIComponent(documentId(teamId, id as EntityId))}`
  const { text } = await ask({ method: 'GET', path, querystring: { routing: teamId } }, signal)
  const answer = rawMembers(text)
  const found = answer.get('found')
  if (found === undefined) throw new ReplicaUnavailable('missing-index', kind)
  if (found === 'false' || answer.get('_version') === String(deletedRevision)) return undefined
  return answer.get('_source')
}

import type { TeamId } from '../domain/identifiers.ts'
import { readDetail } from './readDetail.ts'
import type { Replica } from './replica.ts'

/** A submission with its full report as raw JSON text; undefined when the team has no such submission. */
export const getRecord = (
  replica: Replica,
  teamId: TeamId,
  id: string,
  signal: AbortSignal,
): Promise<string | undefined> => readDetail(replica, 'submission-details', teamId, id, signal)

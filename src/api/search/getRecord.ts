import type { TeamId } from '../../core/model/ids.ts'
import { readDetail } from './readDetail.ts'
import type { SearchClient } from './searchClient.ts'

/** A submission with its full report as raw JSON; undefined when the team has no such submission. */
export const getRecord = (
  replica: SearchClient,
  teamId: TeamId,
  id: string,
  signal: AbortSignal,
): Promise<Buffer | undefined> => readDetail(replica, 'submission-details', teamId, id, signal)

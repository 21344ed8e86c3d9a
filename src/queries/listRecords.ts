import type { TeamId } from '../domain/identifiers.ts'
import type { ReportStatus } from '../domain/submission.ts'
import type { Page, PageRequest } from './page.ts'
import type { Replica } from './replica.ts'
import { equalTo, searchPage, type Window, within } from './searchPage.ts'

export type RecordsFilter = {
  readonly formId?: string | undefined
  readonly status?: ReportStatus | undefined
  readonly created: Window
  readonly changed: Window
}

/** The submissions of a team, newest first. */
export const listRecords = (
  replica: Replica,
  teamId: TeamId,
  { formId, status, created, changed }: RecordsFilter,
  page: PageRequest,
  signal: AbortSignal,
): Promise<Page> =>
  searchPage(
    replica,
    'submissions',
    teamId,
    [
      ...equalTo('formId', formId),
      ...equalTo('status', status),
      ...within('createdAt', created),
      ...within('changedAt', changed),
    ],
    page,
    signal,
  )

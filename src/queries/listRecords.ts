import type { ReportStatus } from '../domain/submission.ts'
import type { ListReader } from './keptSnapshots.ts'
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
  reader: ListReader,
  { formId, status, created, changed }: RecordsFilter,
  page: PageRequest,
): Promise<Page> =>
  searchPage(
    replica,
    'submissions',
    reader,
    [
      ...equalTo('formId', formId),
      ...equalTo('status', status),
      ...within('createdAt', created),
      ...within('changedAt', changed),
    ],
    page,
  )

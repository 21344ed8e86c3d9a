import type { ReportStatus } from '../../core/model/submission.ts'
import type { Clause } from './clauses.ts'
import type { IndexReader } from './indexReader.ts'
import type { ListReader } from './keptSnapshots.ts'
import type { Page, PageRequest } from './page.ts'
import { equalTo, searchPage, type Window, within } from './searchPage.ts'

export type RecordsFilter = {
  readonly formId?: string | undefined
  readonly status?: ReportStatus | undefined
  readonly created: Window
  readonly changed: Window
}

/** What finds the submissions that are meant. */
export const recordsFilter = ({ formId, status, created, changed }: RecordsFilter): readonly Clause[] => [
  ...equalTo('formId', formId),
  ...equalTo('status', status),
  ...within('createdAt', created),
  ...within('changedAt', changed),
]

/** The submissions of a team, newest first. */
export const listRecords = (
  replica: IndexReader,
  reader: ListReader,
  filter: RecordsFilter,
  page: PageRequest,
): Promise<Page> => searchPage(replica, 'submissions', reader, recordsFilter(filter), page)

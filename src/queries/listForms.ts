import type { Scene } from '../domain/form.ts'
import type { Clause } from './clauses.ts'
import type { ListReader } from './keptSnapshots.ts'
import type { Page, PageRequest } from './page.ts'
import type { Replica } from './replica.ts'
import { equalTo, searchPage, type Window, within } from './searchPage.ts'
import { exactTitle, similarTitle } from './titleClauses.ts'

export type FormsFilter = {
  readonly scene?: Scene | undefined
  /** Filters nothing when empty. */
  readonly titleContains?: string | undefined
  readonly changed: Window
}

/** The forms of a team, newest first. Misspelt titles count only when no title holds what was typed. */
export async function listForms(
  replica: Replica,
  reader: ListReader,
  { scene, titleContains = '', changed }: FormsFilter,
  page: PageRequest,
): Promise<Page> {
  const filters = [...equalTo('scene', scene), ...within('changedAt', changed)]
  const search = (title: readonly Clause[]): Promise<Page> =>
    searchPage(replica, 'forms', reader, [...filters, ...title], page)
  if (titleContains === '') return search([])
  const { teamId } = reader
  const exact = await search([exactTitle(teamId, titleContains)])
  const similar = similarTitle(teamId, titleContains)
  return exact.totalDocs > 0 || similar === undefined ? exact : search([similar])
}

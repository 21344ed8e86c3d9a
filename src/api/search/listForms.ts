import type { Scene } from '../../core/model/form.ts'
import type { TeamId } from '../../core/model/ids.ts'
import type { Clause } from './clauses.ts'
import type { IndexReader } from './indexReader.ts'
import type { ListReader } from './keptSnapshots.ts'
import type { Page, PageRequest } from './page.ts'
import { equalTo, searchPage, type Window, within } from './searchPage.ts'
import { exactTitle, similarTitles } from './titleClauses.ts'

export type FormsFilter = {
  readonly scene?: Scene | undefined
  /** Filters nothing when empty, or white space alone. */
  readonly titleContains?: string | undefined
  readonly changed: Window
}

/** What finds the forms that are meant: each counts only when those before it find nothing. The more slips there are in a title, the later it comes. */
export function formsFilters(
  teamId: TeamId,
  { scene, titleContains, changed }: FormsFilter,
): readonly [readonly Clause[], ...(readonly Clause[])[]] {
  const filters = [...equalTo('scene', scene), ...within('changedAt', changed)]
  const typed = titleContains?.trim() ?? ''
  if (typed === '') return [filters]
  const exact = [...filters, exactTitle(teamId, typed)]
  return [exact, ...similarTitles(teamId, typed).map((similar) => [...filters, similar])]
}

/** The forms of a team, newest first. */
export async function listForms(
  replica: IndexReader,
  reader: ListReader,
  filter: FormsFilter,
  wanted: PageRequest,
): Promise<Page> {
  const [first, ...others] = formsFilters(reader.teamId, filter)
  let page = await searchPage(replica, 'forms', reader, first, wanted)
  for (const other of others) {
    if (page.totalDocs > 0) break
    page = await searchPage(replica, 'forms', reader, other, wanted)
  }
  return page
}

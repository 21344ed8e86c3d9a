import { type EntityType, teamList } from '../../core/model/teamList.ts'
import { aliasOf } from '../../core/stores/indices.ts'
import { type Clause, countOnly, newestFirst, ofTeam } from './clauses.ts'
import { totalOf } from './hits.ts'
import type { IndexReader } from './indexReader.ts'
import type { ListReader } from './keptSnapshots.ts'
import { hasLarge } from './largeParts.ts'
import type { Page, PageRequest } from './page.ts'
import { teamShard } from './searchClient.ts'
import { multiSearch, searchTeam } from './searches.ts'

/** Filters in the order in which they apply: each one counts only if those before it find nothing. */
export type Filters = readonly [readonly Clause[], ...(readonly Clause[])[]]

/**
 * One page of a team's list, newest first, with the exact total, by the first filter that finds any row. A page past the last one is
 * empty. A page that begins at offset `deepPageFrom` or later is read from a snapshot, without skipping the rows before it; so is every page of
 * a list with large rows, which are weighed before they are read. Rejects with `ElasticsearchUnavailable` and `LargePage`.
 */
export async function searchPage(
  indexReader: IndexReader,
  kind: EntityType,
  reader: ListReader,
  [first, ...others]: Filters,
  { page, limit }: PageRequest,
): Promise<Page> {
  const request = { page, limit }
  const isDeep = offsetOf(request) >= indexReader.deepPageFrom || (await hasLargeRows(indexReader, kind, reader))
  const read = isDeep ? deepPage : shallowPage
  let found = await read(indexReader, kind, reader, first, request)
  for (const other of others) {
    if (found.totalDocs > 0) break
    found = await read(indexReader, kind, reader, other, request)
  }
  return found
}

/** Asked once for each version of a list: while Elasticsearch shows just what that stands for, no row can have become large. */
async function hasLargeRows(
  indexReader: IndexReader,
  kind: EntityType,
  { teamId, version, signal }: ListReader,
): Promise<boolean> {
  const list = teamList(kind, teamId)
  if (version !== null && indexReader.withoutLargeRows.get(list) === version) return false
  const isFound = await hasLarge(indexReader, kind, teamId, 'summary', signal)
  if (version !== null && !isFound) indexReader.withoutLargeRows.set(list, version)
  return isFound
}

const offsetOf = ({ page, limit }: PageRequest): number => (page - 1) * limit

/** A list of so many times `deepPageFrom` rows is faster to count in a search of its own than with the hits. */
const largeFactor = 20

async function shallowPage(
  indexReader: IndexReader,
  kind: EntityType,
  { teamId, signal }: ListReader,
  filter: readonly Clause[],
  request: PageRequest,
): Promise<Page> {
  const { indexPrefix, largeLists, deepPageFrom } = indexReader
  const index = aliasOf(indexPrefix, kind)
  const target = { ...teamShard(teamId), allow_partial_search_results: false }
  const query = ofTeam(teamId, filter)
  const rows = { query, sort: newestFirst, from: offsetOf(request), size: request.limit }
  const pageOf = (totalDocs: number, items: readonly Buffer[]): Page => ({ ...request, totalDocs, items })

  const countWithHits = async (): Promise<Page> => {
    const body = { ...rows, track_total_hits: true }
    const answer = await searchTeam(indexReader, kind, teamId, body, signal)
    return pageOf(totalOf(answer), answer.summaries)
  }
  const countSeparately = async (): Promise<Page> => {
    const header = { ...target, index }
    const [found, count] = await multiSearch(
      indexReader,
      [
        { header, body: { ...rows, track_total_hits: false } },
        { header, body: { query, ...countOnly } },
      ],
      'missing-index',
      signal,
    )
    return pageOf(totalOf(count), found.summaries)
  }

  const listKey = JSON.stringify([kind, teamId, filter])
  const separate = largeLists.has(listKey) ? await countSeparately() : undefined
  // A refresh between the two searches can make the total contradict the rows.
  const page = separate !== undefined && isConsistent(separate) ? separate : await countWithHits()
  if (page.totalDocs > largeFactor * deepPageFrom) largeLists.set(listKey, true)
  else largeLists.delete(listKey)
  return page
}

/** Whether a page holds as many rows as its total implies. */
const isConsistent = (page: Page): boolean =>
  page.items.length === Math.min(page.limit, Math.max(0, page.totalDocs - offsetOf(page)))

const deepPage = (
  { readSnapshot }: IndexReader,
  kind: EntityType,
  reader: ListReader,
  filter: readonly Clause[],
  request: PageRequest,
): Promise<Page> =>
  readSnapshot(kind, reader, async (snapshot) => {
    const rows = { offset: offsetOf(request), limit: request.limit }
    const found = await snapshot.page(filter, rows, reader.signal)
    return { ...request, totalDocs: found.total, items: found.rows }
  })

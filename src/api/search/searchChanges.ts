import { type EntityPart, largeBytes } from '../../core/elasticsearch/documentFormat.ts'
import { type DocumentId, documentId, type EntityId, entityIdOf } from '../../core/model/ids.ts'
import type { LogPosition } from '../../core/model/logPosition.ts'
import { type Clause, sizeField } from './clauses.ts'
import { findDetails } from './exportRows.ts'
import { type SearchAnswer, searchTeam } from './hits.ts'
import type { VersionedList } from './indexReader.ts'
import { hasLarge, mostBytesOf, mostPartBytes, readParts } from './largeRows.ts'
import type { QueryTurns, RunQuery } from './queryTurns.ts'
import { AnswerTooLong, ElasticsearchUnavailable } from './searchClient.ts'
import { maxPageBytes, type PickRow } from './searchPage.ts'

/** Log positions of one partition, from `from` to below `below`. */
export type PositionRange = { readonly from: LogPosition; readonly below: LogPosition }

/** For one page of a walk (`changes.ts`). */
export type ChangesSearch = {
  readonly list: VersionedList
  /** The rest of the walk, in ascending order. */
  readonly ranges: readonly PositionRange[]
  readonly afterSortKey: string | undefined
  /** The first range may fill the page: it is searched alone first, which is faster. */
  readonly isLong: boolean
  readonly hasDeletions: boolean
  readonly limit: number
  readonly view: 'summary' | 'full'
  readonly pick: PickRow
}

/**
 * Where a page begins: at a log position; among rows that share it, after the sort key `afterSortKey` (creation time, then id). Only rows that a
 * rebuild has copied, because the topic was replaced by another log, share a position: 0.
 */
export type PlaceInWalk = { readonly logPosition: LogPosition; readonly afterSortKey: string | undefined }

/** `next` is undefined at the end of the walk. */
export type ChangesPage = { readonly items: readonly Buffer[]; readonly next: PlaceInWalk | undefined }

/** A deletion has no `sortKey`. */
type RowPlace = { readonly logPosition: LogPosition; readonly sortKey: string | undefined }
type Row = RowPlace & { readonly item: Buffer }
/** `bytes`: undefined for a row that is not large. */
type ChangeKey = RowPlace & {
  readonly id: EntityId
  readonly changedAt: string
  readonly isDeleted: boolean
  readonly bytes: number | undefined
}
type RowsPage = { readonly rows: readonly Row[]; readonly next: PlaceInWalk | undefined }

/**
 * A page has at most `limit` rows and `maxPageBytes`, or one larger row. A walk needs no snapshot: a row that changes before it is read gets a
 * position above the walk's target, and comes in the next walk. If all rows of a page have changed, reads the next page.
 */
export async function searchChanges(changes: ChangesSearch, turns: QueryTurns): Promise<ChangesPage> {
  let { ranges, afterSortKey } = changes
  while (ranges.length > 0) {
    const page = await readRowsPage({ ...changes, ranges, afterSortKey }, turns)
    const { rows, next } = withinPage(page)
    ranges = next === undefined ? [] : rangesFrom(ranges, next.logPosition)
    const logPosition = ranges[0]?.from
    afterSortKey = logPosition === next?.logPosition ? next?.afterSortKey : undefined
    const nextPlace = logPosition === undefined ? undefined : { logPosition, afterSortKey }
    if (rows.length > 0) return { items: rows.map(({ item }) => item), next: nextPlace }
  }
  return { items: [], next: undefined }
}

export const rangesFrom = (ranges: readonly PositionRange[], position: LogPosition): readonly PositionRange[] =>
  ranges
    .map(({ from, below }) => ({ from: from < position ? position : from, below }))
    .filter(({ from, below }) => from < below)

/** As many as fit, but at least one. */
function withinPage({ rows, next }: RowsPage): RowsPage {
  let bytes = 0
  const end = rows.findIndex(({ item }, index) => {
    bytes += item.length
    return index > 0 && bytes > maxPageBytes
  })
  return end === -1 ? { rows, next } : { rows: rows.slice(0, end), next: placeAfter(rows[end - 1]) }
}

async function readRowsPage(changes: ChangesSearch, turns: QueryTurns): Promise<RowsPage> {
  const { list, view } = changes
  if (view === 'full' || (await hasLarge(list, 'summary', turns.run))) return await readByKeys(changes, turns)
  try {
    return await readSmallRows(changes, turns)
  } catch (error) {
    if (!(error instanceof AnswerTooLong)) throw error
    return await readByKeys(changes, turns)
  }
}

/** Rejects with `AnswerTooLong` if a search would return more than `mostPartBytes`. */
async function readSmallRows(changes: ChangesSearch, turns: QueryTurns): Promise<RowsPage> {
  const mostBytes = Math.min(changes.limit * largeBytes, mostPartBytes)
  const release = await turns.reserve(mostBytes)
  const rows = await readUpToLimit(changes, (selection) =>
    turns.run(
      async (signal) => changeRowsIn(await search({ ...changes, ...selection }, {}, signal), changes.pick),
      mostBytes,
    ),
  )
  if (rows.length === 0) release()
  return { rows, next: nextAfter(rows, changes.limit) }
}

/** Reads positions and sizes before the rows. */
async function readByKeys(changes: ChangesSearch, turns: QueryTurns): Promise<RowsPage> {
  const entityPart = changes.view === 'full' ? 'detail' : 'summary'
  const allKeys = await readUpToLimit(changes, (selection) =>
    turns.run(async (signal) =>
      changeKeysIn(await search({ ...changes, ...selection }, changeKeysOnly(entityPart), signal), entityPart),
    ),
  )
  const keys = keysOfOnePage(allKeys)
  if (keys.length === 0) return { rows: [], next: undefined }
  // Reading ends with the part that fills the page. The first row may be larger than a page.
  await turns.reserve(Math.max(keys[0]?.bytes ?? 0, Math.min(mostBytesOf(keys), maxPageBytes + mostPartBytes)))
  const rows: Row[] = []
  let keysRead = 0
  let bytes = 0
  const readRows = entityPart === 'detail' ? readDetails : readSummaries
  const read = async (keysOfPart: readonly ChangeKey[], mostBytes: number): Promise<readonly Buffer[]> => {
    const rowsOfPart = await readRows(changes, keysOfPart, mostBytes, turns.run)
    rows.push(...rowsOfPart)
    keysRead += keysOfPart.length
    return rowsOfPart.map(({ item }) => item)
  }
  for await (const items of readParts([keys], read)) {
    bytes += items.reduce((sum, { length }) => sum + length, 0)
    if (bytes >= maxPageBytes) break
  }
  const next = keysRead < allKeys.length ? placeAfter(allKeys[keysRead - 1]) : nextAfter(allKeys, changes.limit)
  return { rows, next }
}

/** Counts only large rows; at least one key. */
function keysOfOnePage(keys: readonly ChangeKey[]): readonly ChangeKey[] {
  let largeRowBytes = 0
  const end = keys.findIndex(({ bytes = 0 }, index) => {
    largeRowBytes += bytes
    return index > 0 && largeRowBytes > maxPageBytes
  })
  return end === -1 ? keys : keys.slice(0, end)
}

const nextAfter = (rows: readonly RowPlace[], limit: number): PlaceInWalk | undefined =>
  rows.length < limit ? undefined : placeAfter(rows.at(-1))

const sharedPosition = 0

/**
 * After a row that shares position 0, the next page begins there, after the row's sort key. A deletion at position 0 has no sort key and sorts after
 * these rows: the next page begins at position 1.
 */
function placeAfter(row: RowPlace | undefined): PlaceInWalk | undefined {
  if (row === undefined) return undefined
  const { logPosition, sortKey } = row
  if (logPosition === sharedPosition && sortKey !== undefined) return { logPosition, afterSortKey: sortKey }
  return { logPosition: (logPosition + 1) as LogPosition, afterSortKey: undefined }
}

async function readUpToLimit<Item>(
  { ranges, afterSortKey, isLong, limit }: ChangesSearch,
  read: (selection: Pick<ChangesSearch, 'ranges' | 'afterSortKey' | 'limit'>) => Promise<readonly Item[]>,
): Promise<readonly Item[]> {
  const otherRanges = isLong ? ranges.slice(1) : []
  const rows = await read({ ranges: isLong ? ranges.slice(0, 1) : ranges, afterSortKey, limit })
  if (rows.length >= limit || otherRanges.length === 0) return rows
  return [...rows, ...(await read({ ranges: otherRanges, afterSortKey: undefined, limit: limit - rows.length }))]
}

type Options = Readonly<Record<string, unknown>>

/** Rejects with `AnswerTooLong` above `maxBytes`. */
function search(
  { list, hasDeletions, ranges, afterSortKey, limit: size }: ChangesSearch,
  options: Options,
  signal: AbortSignal,
  maxBytes = mostPartBytes,
  filter: readonly Clause[] = [],
): Promise<SearchAnswer> {
  const { teamId } = list
  const ofTeam = { term: { teamId } }
  const rowsOfTeam = hasDeletions ? anyOf([ofTeam, { term: { 'tombstone.teamId': teamId } }]) : ofTeam
  const inRanges = anyOf(ranges.map(({ from, below }) => ({ range: { logPosition: { gte: from, lt: below } } })))
  const query: Clause = { bool: { filter: [rowsOfTeam, inRanges, ...filter] } }
  // `position`: the sort key.
  const paging = { sort: [{ logPosition: 'asc' }, { position: 'asc' }], size, track_total_hits: false }
  const beginning = afterSortKey === undefined ? {} : { search_after: [sharedPosition, afterSortKey] }
  return searchTeam(list, { query, ...paging, ...beginning, ...options }, signal, maxBytes)
}

const anyOf = (clauses: readonly Clause[]): Clause => ({ bool: { should: [...clauses], minimum_should_match: 1 } })

const changeKeysOnly = (entityPart: EntityPart): Options => ({
  _source: false,
  docvalue_fields: ['changedAt', 'tombstone.deletedAt', sizeField(entityPart)],
})

type Hit = SearchAnswer['hits'][number]

function logPositionOf({ sort }: Hit): LogPosition {
  const position = sort?.[0]
  if (typeof position === 'number') return position as LogPosition
  throw new ElasticsearchUnavailable('partial', 'a hit has no position')
}

function sortKeyOf({ sort }: Hit): string | undefined {
  const sortKey = sort?.[1]
  return typeof sortKey === 'string' ? sortKey : undefined
}

const placeOf = (hit: Hit): RowPlace => ({ logPosition: logPositionOf(hit), sortKey: sortKeyOf(hit) })

function changeKeysIn({ hits }: SearchAnswer, entityPart: EntityPart): readonly ChangeKey[] {
  return hits.map((hit) => {
    const [deletedAt] = hit.fields?.['tombstone.deletedAt'] ?? []
    const [changedAt = deletedAt] = hit.fields?.['changedAt'] ?? []
    const [size] = hit.fields?.[sizeField(entityPart)] ?? []
    const bytes = size === undefined ? undefined : Number(size)
    const isDeleted = deletedAt !== undefined
    return { ...placeOf(hit), id: idOf(hit), changedAt: timeOf(changedAt), isDeleted, bytes }
  })
}

const idOf = ({ _id }: Hit): EntityId => {
  if (_id !== undefined) return entityIdOf(_id as DocumentId)
  throw new ElasticsearchUnavailable('partial', 'a hit has no id')
}

const timeOf = (time: string | undefined): string => {
  if (time !== undefined) return time
  throw new ElasticsearchUnavailable('partial', 'a hit has no time of change')
}

/** Deletions have no summary. */
function changeRowsIn({ hits, summaries }: SearchAnswer, pick: PickRow): readonly Row[] {
  let nextSummary = 0
  return hits.map((hit): Row => {
    const { changedAt, tombstone } = hit._source ?? {}
    if (tombstone !== undefined) return { ...placeOf(hit), item: deletedItem(idOf(hit), tombstone.deletedAt) }
    const summary = summaries[nextSummary++]
    if (summary === undefined) throw new ElasticsearchUnavailable('partial', 'a hit has no summary')
    return { ...placeOf(hit), item: liveItem(pick(summary), timeOf(changedAt)) }
  })
}

type ReadRows = (
  changes: ChangesSearch,
  keys: readonly ChangeKey[],
  mostBytes: number,
  runQuery: RunQuery,
) => Promise<readonly Row[]>

/** Leaves out rows that have changed after their keys were read. */
const readSummaries: ReadRows = async (changes, keys, mostBytes, runQuery) => {
  const [first, last] = [keys[0], keys.at(-1)]
  if (first === undefined || last === undefined) return []
  const ranges = rangesFrom(changes.ranges, first.logPosition).flatMap(({ from, below }) =>
    from > last.logPosition ? [] : [{ from, below: Math.min(below, last.logPosition + 1) as LogPosition }],
  )
  // A list document has more than its summary, and `mostBytes` counts summaries alone.
  const maxBytes = mostBytes + mostPartBytes
  const { teamId } = changes.list
  const withIds: Clause = { ids: { values: keys.map(({ id }) => documentId(teamId, id)) } }
  const rowsOfKeys = { ...changes, ranges, afterSortKey: undefined, limit: keys.length }
  const answer = runQuery((signal) => search(rowsOfKeys, {}, signal, maxBytes, [withIds]), mostBytes)
  return changeRowsIn(await answer, changes.pick)
}

/**
 * Details may be newer than their keys. An entity that was deleted since is left out: the deletion comes in the next walk.
 *
 * Elasticsearch may accept a record's list document and refuse its detail; the record becomes a dead letter. Its row gets the former detail, or is
 * left out. Once the dead letter is replayed, the row comes in a later walk.
 */
const readDetails: ReadRows = async ({ list, pick }, keys, mostBytes, runQuery) => {
  const liveIds = keys.filter(({ isDeleted }) => !isDeleted).map(({ id }) => id)
  const details = liveIds.length === 0 ? new Map() : await findDetails(list, liveIds, mostBytes, runQuery)
  return keys.flatMap(({ logPosition, sortKey, id, changedAt, isDeleted }): readonly Row[] => {
    if (isDeleted) return [{ logPosition, sortKey, item: deletedItem(id, changedAt) }]
    const detail: unknown = details.get(id)
    return detail instanceof Buffer ? [{ logPosition, sortKey, item: liveItem(pick(detail), changedAt) }] : []
  })
}

const deletedItem = (id: EntityId, changedAt: string): Buffer =>
  Buffer.from(JSON.stringify({ id, changedAt, deleted: true }))

/** An item has at least the member `id`, so a comma follows. An instant needs no JSON escapes. */
const liveItem = (item: Buffer, changedAt: string): Buffer =>
  Buffer.concat([Buffer.from(`{"changedAt":"${changedAt}","deleted":false,`), item.subarray(1)])

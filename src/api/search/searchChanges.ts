import { type DocumentId, documentId, type EntityId, entityIdOf } from '../../core/model/ids.ts'
import type { LogPosition } from '../../core/model/logPosition.ts'
import { type EntityPart, largeBytes } from '../../core/stores/documentFormat.ts'
import { bytesOf, type Clause } from './clauses.ts'
import { findDetails } from './exportRows.ts'
import { type SearchAnswer, searchTeam } from './hits.ts'
import type { ListAt } from './indexReader.ts'
import { hasLarge, mostBytesOf, mostPartBytes, readParts } from './largeRows.ts'
import { AnswerTooLong, ElasticsearchUnavailable, type RunQuery } from './searchClient.ts'
import { maxPageBytes, type PickRow } from './searchPage.ts'

/** Positions of one partition, from the first to below the second. */
export type PositionRange = { readonly from: LogPosition; readonly below: LogPosition }

/** A question for one page of changes. */
export type AskedChanges = {
  readonly list: ListAt
  /** What is left of the walk, in ascending order. */
  readonly ranges: readonly PositionRange[]
  /** The order in the list of the row after which the first range begins, if rows share its position. */
  readonly after: string | undefined
  /** Whether the first range may fill the page alone: then it is searched first, which is faster than all ranges at once. */
  readonly isLong: boolean
  readonly hasDeletions: boolean
  readonly limit: number
  readonly view: 'summary' | 'full'
  readonly pick: PickRow
}

/**
 * Where a page begins: at a position, after the row there whose order in the list is `after`. Documents that were copied from a log that was replaced
 * share position 0, and no others share one.
 */
export type PlaceInWalk = { readonly at: LogPosition; readonly after: string | undefined }

/** Rows of a page as JSON, and where the next page begins; undefined after the last row. */
export type FoundChanges = { readonly items: readonly Buffer[]; readonly next: PlaceInWalk | undefined }

/** How a request takes its turn, and holds bytes of its answer (`queryQueue.ts`). */
type Turns = { readonly runQuery: RunQuery; readonly holdAnswer: (bytes: number) => Promise<() => void> }

/** A row of the page, its position, and its order in the list; a deletion has none. */
type Row = { readonly at: LogPosition; readonly order: string | undefined; readonly item: Buffer }
/** What is known of a row before it is read; `bytes` of a large one. */
type ChangeKey = {
  readonly at: LogPosition
  readonly order: string | undefined
  readonly id: EntityId
  readonly changedAt: string
  readonly isDeleted: boolean
  readonly bytes: number | undefined
}
type Found = { readonly rows: readonly Row[]; readonly next: PlaceInWalk | undefined }

/**
 * Reads the next changes, at most `limit` and `maxPageBytes` (a larger row is a page of its own). There is no snapshot: a row that changes
 * meanwhile leaves the ranges, and comes in the next walk. So a search may find nothing where there is more to come; then this one goes on.
 */
export async function searchChanges(asked: AskedChanges, turns: Turns): Promise<FoundChanges> {
  let { ranges, after } = asked
  while (ranges.length > 0) {
    const found = await readPage({ ...asked, ranges, after }, turns)
    const { rows, next } = withinPage(found)
    ranges = next === undefined ? [] : rangesFrom(ranges, next.at)
    const [first] = ranges
    after = first?.from === next?.at ? next?.after : undefined
    if (rows.length > 0) return { items: rows.map(({ item }) => item), next: first && { at: first.from, after } }
  }
  return { items: [], next: undefined }
}

/** The part of ranges from a position on. */
export const rangesFrom = (ranges: readonly PositionRange[], position: LogPosition): readonly PositionRange[] =>
  ranges
    .map(({ from, below }) => ({ from: from < position ? position : from, below }))
    .filter(({ from, below }) => from < below)

/** The rows that fit into a page, at least one. */
function withinPage({ rows, next }: Found): Found {
  let bytes = 0
  const end = rows.findIndex(({ item }, at) => {
    bytes += item.length
    return at > 0 && bytes > maxPageBytes
  })
  return end === -1 ? { rows, next } : { rows: rows.slice(0, end), next: placeAfter(rows[end - 1]) }
}

async function readPage(asked: AskedChanges, turns: Turns): Promise<Found> {
  const { list, view } = asked
  if (view === 'full' || (await hasLarge(list, 'summary', turns.runQuery))) return await readByKeys(asked, turns)
  try {
    return await readSmallRows(asked, turns)
  } catch (error) {
    if (!(error instanceof AnswerTooLong)) throw error
    return await readByKeys(asked, turns)
  }
}

/** Reads rows, of which none is large, in one search. */
async function readSmallRows(asked: AskedChanges, { runQuery, holdAnswer }: Turns): Promise<Found> {
  const mostBytes = Math.min(asked.limit * largeBytes, mostPartBytes)
  const release = await holdAnswer(mostBytes)
  const rows = await firstOf(asked, (part) =>
    runQuery(async (signal) => rowsIn(await search({ ...asked, ...part }, {}, signal), asked.pick), mostBytes),
  )
  if (rows.length === 0) release()
  return { rows, next: nextAfter(rows, asked.limit) }
}

/** Reads positions and sizes first, then the rows in parts whose bytes are bounded. */
async function readByKeys(asked: AskedChanges, { runQuery, holdAnswer }: Turns): Promise<Found> {
  const part = asked.view === 'full' ? 'detail' : 'summary'
  const found = await firstOf(asked, (some) =>
    runQuery(async (signal) => keysIn(await search({ ...asked, ...some }, keysOnly(part), signal), part)),
  )
  const keys = withinLarge(found)
  if (keys.length === 0) return { rows: [], next: undefined }
  await holdAnswer(Math.max(keys[0]?.bytes ?? 0, Math.min(mostBytesOf(keys), maxPageBytes + mostPartBytes)))
  const rows: Row[] = []
  let [count, bytes] = [0, 0]
  const read = async (some: readonly ChangeKey[], mostBytes: number): Promise<readonly Buffer[]> => {
    const read = await (part === 'detail' ? readWhole : readSummaries)(asked, some, mostBytes, runQuery)
    rows.push(...read)
    count += some.length
    return read.map(({ item }) => item)
  }
  for await (const items of readParts([keys], read)) {
    bytes += items.reduce((sum, { length }) => sum + length, 0)
    if (bytes >= maxPageBytes) break
  }
  return { rows, next: count < found.length ? placeAfter(found[count - 1]) : nextAfter(found, asked.limit) }
}

/** The first keys whose large rows fit into a page together; at least one. */
function withinLarge(keys: readonly ChangeKey[]): readonly ChangeKey[] {
  let large = 0
  const end = keys.findIndex(({ bytes = 0 }, at) => {
    large += bytes
    return at > 0 && large > maxPageBytes
  })
  return end === -1 ? keys : keys.slice(0, end)
}

/** Where to go on after rows: undefined when there were fewer than asked for, so no more. */
const nextAfter = (rows: readonly Placed[], limit: number): PlaceInWalk | undefined =>
  rows.length < limit ? undefined : placeAfter(rows.at(-1))

type Placed = Pick<Row, 'at' | 'order'>

/** The position that documents of a log share that was replaced. */
const sharedPosition = 0

/** A deletion comes last of those that share a position: that of the first record of partition 0. */
function placeAfter(row: Placed | undefined): PlaceInWalk | undefined {
  if (row === undefined) return undefined
  const isShared = row.at === sharedPosition && row.order !== undefined
  return isShared ? { at: row.at, after: row.order } : { at: (row.at + 1) as LogPosition, after: undefined }
}

/** The first rows of the ranges, at most `limit`: of a long walk those of the first range, and of the others only if these do not suffice. */
async function firstOf<Each>(
  { ranges, after, isLong, limit }: AskedChanges,
  read: (asked: Pick<AskedChanges, 'ranges' | 'after' | 'limit'>) => Promise<readonly Each[]>,
): Promise<readonly Each[]> {
  const others = isLong ? ranges.slice(1) : []
  const rows = await read({ ranges: isLong ? ranges.slice(0, 1) : ranges, after, limit })
  if (rows.length >= limit || others.length === 0) return rows
  return [...rows, ...(await read({ ranges: others, after: undefined, limit: limit - rows.length }))]
}

type Options = Readonly<Record<string, unknown>>

/** Searches live rows, and deletions if asked for, in the order of their positions. Rejects with `AnswerTooLong` beyond `mostPartBytes`. */
function search(
  { list, hasDeletions, ranges, after, limit: size }: AskedChanges,
  options: Options,
  signal: AbortSignal,
  maxBytes = mostPartBytes,
  filter: readonly Clause[] = [],
): Promise<SearchAnswer> {
  const { teamId } = list
  const ofTeam = { term: { teamId } }
  const owned = hasDeletions ? anyOf([ofTeam, { term: { 'tombstone.teamId': teamId } }]) : ofTeam
  const inRanges = anyOf(ranges.map(({ from, below }) => ({ range: { logPosition: { gte: from, lt: below } } })))
  const query: Clause = { bool: { filter: [owned, inRanges, ...filter] } }
  const paging = { sort: [{ logPosition: 'asc' }, { position: 'asc' }], size, track_total_hits: false }
  const from = after === undefined ? {} : { search_after: [sharedPosition, after] }
  const body = { query, ...paging, ...from, ...options }
  return searchTeam(list, body, signal, maxBytes)
}

const anyOf = (clauses: readonly Clause[]): Clause => ({ bool: { should: [...clauses], minimum_should_match: 1 } })

/** Search options: what a `ChangeKey` holds. */
const keysOnly = (part: EntityPart): Options => ({
  _source: false,
  docvalue_fields: ['changedAt', 'tombstone.deletedAt', bytesOf(part)],
})

type Hit = SearchAnswer['hits'][number]

function positionOf({ sort }: Hit): LogPosition {
  const position = sort?.[0]
  if (typeof position === 'number') return position as LogPosition
  throw new ElasticsearchUnavailable('partial', 'a hit has no position')
}

function orderOf({ sort }: Hit): string | undefined {
  const order = sort?.[1]
  return typeof order === 'string' ? order : undefined
}

function keysIn({ hits }: SearchAnswer, part: EntityPart): readonly ChangeKey[] {
  return hits.map((hit) => {
    const [deletedAt] = hit.fields?.['tombstone.deletedAt'] ?? []
    const [changedAt = deletedAt] = hit.fields?.['changedAt'] ?? []
    const [size] = hit.fields?.[bytesOf(part)] ?? []
    const bytes = size === undefined ? undefined : Number(size)
    const isDeleted = deletedAt !== undefined
    return { at: positionOf(hit), order: orderOf(hit), id: idOf(hit), changedAt: timeOf(changedAt), isDeleted, bytes }
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

/** The rows of an answer with whole list documents. */
function rowsIn({ hits, summaries }: SearchAnswer, pick: PickRow): readonly Row[] {
  let next = 0
  return hits.map((hit): Row => {
    const { changedAt, tombstone } = hit._source ?? {}
    const [at, order] = [positionOf(hit), orderOf(hit)]
    if (tombstone !== undefined) return { at, order, item: deletedItem(idOf(hit), tombstone.deletedAt) }
    const summary = summaries[next++]
    if (summary === undefined) throw new ElasticsearchUnavailable('partial', 'a hit has no summary')
    return { at, order, item: liveItem(pick(summary), timeOf(changedAt)) }
  })
}

type ReadRows = (
  asked: AskedChanges,
  keys: readonly ChangeKey[],
  bytes: number,
  runQuery: RunQuery,
) => Promise<readonly Row[]>

/** The rows of keys that have not changed since. */
const readSummaries: ReadRows = async (asked, keys, bytes, runQuery) => {
  const [first, last] = [keys[0], keys.at(-1)]
  if (first === undefined || last === undefined) return []
  const ranges = rangesFrom(asked.ranges, first.at).flatMap(({ from, below }) =>
    from > last.at ? [] : [{ from, below: Math.min(below, last.at + 1) as LogPosition }],
  )
  // A list document holds more than the part that is weighed.
  const maxBytes = bytes + mostPartBytes
  const { teamId } = asked.list
  const named: Clause = { ids: { values: keys.map(({ id }) => documentId(teamId, id)) } }
  const some = { ...asked, ranges, after: undefined, limit: keys.length }
  const answer = runQuery((signal) => search(some, {}, signal, maxBytes, [named]), bytes)
  return rowsIn(await answer, asked.pick)
}

/**
 * Whole entities, at least as new as their keys. One that was deleted since is left out: its deletion comes in the next walk. So is one without a
 * detail: Elasticsearch has refused that, so the record is a dead letter, and a replay gives the row a new position (`listToRepeat`).
 */
const readWhole: ReadRows = async ({ list, pick }, keys, bytes, runQuery) => {
  const live = keys.filter(({ isDeleted }) => !isDeleted).map(({ id }) => id)
  const details = live.length === 0 ? new Map() : await findDetails(list, live, bytes, runQuery)
  return keys.flatMap(({ at, order, id, changedAt, isDeleted }): readonly Row[] => {
    if (isDeleted) return [{ at, order, item: deletedItem(id, changedAt) }]
    const detail: unknown = details.get(id)
    return detail instanceof Buffer ? [{ at, order, item: liveItem(pick(detail), changedAt) }] : []
  })
}

const deletedItem = (id: EntityId, changedAt: string): Buffer =>
  Buffer.from(JSON.stringify({ id, changedAt, deleted: true }))

/** Adds two members in front of those of an item, which has an `id` at least. JSON escapes nothing in instants. */
const liveItem = (item: Buffer, changedAt: string): Buffer =>
  Buffer.concat([Buffer.from(`{"changedAt":"${changedAt}","deleted":false,`), item.subarray(1)])

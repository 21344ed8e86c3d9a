import { z } from 'zod'
import type { Served } from '../core/json/scanner.ts'
import type { EntityType } from '../core/model/ids.ts'
import { endOfPositions, type LogPosition, logPosition } from '../core/model/logPosition.ts'
import type { VisibleList } from '../core/redis/readVisiblePositions.ts'
import {
  type ChangeCursor,
  type CursorScope,
  cursorNow,
  hashVersion,
  keyIdOf,
  maxCursorCharacters,
  type Offsets,
  offsetsOf,
  openCursor,
  parseCursor,
  type SealedCursor,
  sealCursor,
  type Walk,
} from './changeCursor.ts'
import { compressed, compressionFor } from './compression.ts'
import type { Route, RouteContext, RouteDeps } from './context.ts'
import { lists } from './entityRoutes.ts'
import { apiError, unavailable } from './errors.ts'
import { fieldsParameter, pickFields, selectedFields } from './fields.ts'
import { integer, viewParameter } from './parameters.ts'
import { type ChangesPage, type PositionRange, rangesFrom, searchChanges } from './search/searchChanges.ts'
import type { PickRow } from './search/searchPage.ts'

const defaultLimit = 100
const maxLimit = 1_000

const fromNowOn = 'latest'

const membersOfRows = ['changedAt', 'deleted']

const parametersOf = (type: EntityType) =>
  z.object({
    cursor: z
      .string()
      .min(1, 'must not be empty')
      .max(maxCursorCharacters, `must be at most ${maxCursorCharacters} characters`)
      .optional()
      .describe(
        'The `cursor` of the last answer, or the `Changes-Cursor` of an export with the same `view` and `fields`. Left out: from the beginning. ' +
          `\`${fromNowOn}\`: no rows, and a cursor for later changes.`,
      ),
    limit: integer(maxLimit)
      .default(defaultLimit)
      .describe('The most rows in one answer. Large rows come in smaller answers.'),
    view: viewParameter.describe('With `full`, each row has the members that the endpoint of a single item answers.'),
    ...fieldsParameter(membersOfRows, lists[type].summary, lists[type].full),
  })

interface ChangesParameters {
  readonly cursor?: string | undefined
  readonly limit: number
  readonly view: 'summary' | 'full'
  readonly fields?: string | undefined
}

type ChangesRequest = {
  readonly ctx: RouteContext
  readonly deps: RouteDeps
  readonly scope: CursorScope
  readonly limit: number
  readonly pick: PickRow
}

/** `isCurrent`: whether the client now has every change before the watermark of the answer. */
type Page = {
  readonly items: readonly Buffer[]
  readonly cursor: string
  readonly hasMore: boolean
  readonly isCurrent: boolean
}

export function changesRoute(type: EntityType) {
  const schema = parametersOf(type)
  const respondWithChanges: Route = async (ctx, deps) => {
    const { cursor, limit, view, fields } = deps.readParameters(ctx, schema) as ChangesParameters
    const selected = selectedFields(fields, [...membersOfRows, ...lists[type][view]])
    const scope = { type, teamId: ctx.state.accountKey.teamId, view, fields: selected }
    const request = { ctx, deps, scope, limit, pick: pickFields(withId(selected)) }
    const page = await pageOf(request, cursor)
    const { accountKey, freshness } = ctx.state
    const hasAllUntil = page.isCurrent ? (freshness.watermark ?? undefined) : undefined
    deps.keyUse.noteFeed(accountKey, type, hasAllUntil)
    await send(ctx, page)
  }
  return { parameters: schema, respond: respondWithChanges }
}

/** Each row has its `id`, by which clients store it. Undefined: all members. */
const withId = (selected: Served | undefined): Served | undefined =>
  selected === undefined || selected.includes('id') ? selected : ['id', ...selected]

async function pageOf(request: ChangesRequest, cursor: string | undefined): Promise<Page> {
  if (cursor === undefined) return await beginFirstWalk(request)
  return cursor === fromNowOn ? await beginNow(request) : await continueOrWait(request, cursor)
}

/** `waitForChange` makes pages until one has items, but none without `Prefer: wait`, or while too many requests wait. */
async function continueOrWait(request: ChangesRequest, cursor: string): Promise<Page> {
  const { ctx, deps, scope } = request
  let page: Page | undefined
  await deps.waitForChange(ctx, scope.type, async () => {
    page = await continueFrom(request, page?.cursor ?? cursor)
    return page.items.length > 0
  })
  return page ?? (await continueFrom(request, cursor))
}

async function send(ctx: RouteContext, { items, cursor, hasMore }: Page): Promise<void> {
  const parts = items.flatMap((item, index) => (index === 0 ? [item] : [comma, item]))
  const end = Buffer.from(`],"cursor":"${cursor}","hasMore":${hasMore}}`)
  const answer = await compressed(Buffer.concat([itemsBegin, ...parts, end]), compressionFor(ctx))
  const { watermark } = ctx.state.freshness
  if (watermark !== null) ctx.set('Replica-Watermark', watermark)
  ctx.type = 'json'
  if (answer.compression !== undefined) ctx.set('Content-Encoding', answer.compression)
  ctx.body = answer.body
}

const itemsBegin = Buffer.from('{"items":[')
const comma = Buffer.from(',')

const noPositions = (reason: string) => unavailable('positions', new Error(reason))

async function readVisible({ ctx, deps, scope }: ChangesRequest): Promise<VisibleList> {
  const { freshness, visible } = await deps.visibleLists.read(scope.type, scope.teamId)
  ctx.state.freshness = freshness
  if (visible === undefined) throw noPositions('not all positions are known, or deletions may be missing')
  return visible
}

const start = 0 as LogPosition

async function beginFirstWalk(request: ChangesRequest): Promise<Page> {
  const visible = await readVisible(request)
  const cursor = { version: hashVersion(visible.version), since: [] }
  return await walk(request, visible, cursor, {
    target: offsetsOf(visible),
    next: start,
    afterSortKey: undefined,
    isFirst: true,
  })
}

async function beginNow(request: ChangesRequest): Promise<Page> {
  const visible = await readVisible(request)
  return { items: [], cursor: cursorNow(visible, request.scope), hasMore: false, isCurrent: true }
}

/**
 * The next page of the open walk, else the first page of a new walk. If the list still has the cursor's version, and this process has cached the
 * cursor's key, "nothing new" is answered without Elasticsearch and without a further read of Redis.
 */
async function continueFrom(request: ChangesRequest, cursorText: string): Promise<Page> {
  const { ctx, deps, scope } = request
  const sealed = sealedCursorOf(cursorText, scope.type)
  const cachedKey = deps.visibleLists.cachedKey(sealed.keyId)
  const openedCursor = cachedKey && openedWith(sealed, cachedKey, scope)
  const version = ctx.state.freshness.versions[scope.type]
  if (openedCursor !== undefined && openedCursor.walk === undefined) {
    const isUnchanged = version !== null && openedCursor.version === hashVersion(version)
    if (isUnchanged) return { items: [], cursor: cursorText, hasMore: false, isCurrent: true }
  }
  const visible = await readVisible(request)
  // A rebuild has switched to indices for which positions in earlier cursors are not valid.
  if (keyIdOf(visible.cursorKey) !== sealed.keyId) throw apiError('cursor_expired')
  const cursor = openedCursor ?? openedWith(sealed, visible.cursorKey, scope)
  return await walk(request, visible, ...walkFrom(cursor, visible))
}

function sealedCursorOf(text: string, type: EntityType): SealedCursor {
  const parsed = parseCursor(text, type)
  switch (parsed.kind) {
    case 'sealed':
      return parsed
    case 'newer':
      // 503, so that the client retries: a process of the later release can open the cursor.
      throw unavailable('capacity', new Error('a later release has issued the cursor'))
    case 'invalid':
      throw invalidCursor()
  }
}

const invalidCursor = () =>
  apiError('bad_request', 'cursor must be unchanged, and from an answer to the same team, list, view and fields')

function openedWith(sealed: SealedCursor, key: VisibleList['cursorKey'], scope: CursorScope): ChangeCursor {
  const cursor = openCursor(sealed, key, scope)
  if (cursor === undefined) throw invalidCursor()
  return cursor
}

type WalkOrigin = Pick<ChangeCursor, 'version' | 'since'>

function walkFrom({ version, since, walk: openWalk }: ChangeCursor, visible: VisibleList): [WalkOrigin, Walk] {
  const offsets = offsetsOf(visible)
  if (openWalk === undefined) {
    // If Redis was restored from an earlier state, its positions may be below the cursor's, which then stay: the client never goes back.
    const target = longer(offsets, since).map((_, partition) =>
      Math.max(offsets[partition] ?? 0, since[partition] ?? 0),
    )
    return [
      { version: hashVersion(visible.version), since },
      { target, next: start, afterSortKey: undefined, isFirst: false },
    ]
  }
  // Redis was restored from an earlier state. Perhaps not every row below the target is searchable, and the walk would miss some.
  if (openWalk.target.some((offset, partition) => (offsets[partition] ?? 0) < offset))
    throw noPositions('visible positions are below the target of a walk')
  return [{ version, since }, openWalk]
}

const longer = (left: Offsets, right: Offsets): Offsets => (left.length > right.length ? left : right)

async function walk(
  { ctx, deps, scope, limit, pick }: ChangesRequest,
  visible: VisibleList,
  origin: WalkOrigin,
  { target, next, afterSortKey, isFirst }: Walk,
): Promise<Page> {
  const { type, teamId, view } = scope
  const { version, indices, cursorKey } = visible
  const list = { ...deps.indexReader, type, teamId, version, indices }
  const ranges = rangesFrom(
    isFirst ? rangesOfFirstWalk(target, offsetsOf(visible)) : rangesBetween(origin.since, target),
    next,
  )
  // Then changes of one partition probably fill the page: a first walk reads the whole list, and a later page follows one that was full.
  const isLaterPage = next > start
  const isLong = isFirst || isLaterPage
  const search = { list, ranges, afterSortKey, isLong, hasDeletions: !isFirst, limit, view, pick }
  const changes: ChangesPage =
    ranges.length === 0 ? { items: [], next: undefined } : await searchChanges(search, ctx.state.turns)
  const { items, next: nextPlace } = changes
  const cursor =
    nextPlace === undefined
      ? { version: origin.version, since: target, walk: undefined }
      : { ...origin, walk: { target, next: nextPlace.logPosition, afterSortKey: nextPlace.afterSortKey, isFirst } }
  const hasMore = nextPlace !== undefined
  // Every change above the target gives the list another version than `origin` has.
  const isCurrent = !hasMore && origin.version === hashVersion(version)
  return { items, cursor: sealCursor(cursor, cursorKey, scope), hasMore, isCurrent }
}

const rangesBetween = (since: Offsets, target: Offsets): readonly PositionRange[] =>
  target.map((offset, partition) => ({
    from: positionAt(partition, since[partition] ?? 0),
    below: positionAt(partition, offset),
  }))

/**
 * A first walk reads all positions below its target, and also all positions that are not visible yet:
 *
 * 1. Offset 3 has revision 1 of entity `a`.
 * 2. Offset 11 has revision 2, which replaces revision 1 in Elasticsearch. The visible position stays 10, because the record at offset 10 is retried.
 * 3. A walk of only the positions below 10 would leave out `a`. So the client gets revision 2 now, and again once offset 11 is visible.
 *
 * Positions that become visible during the walk belong to the next walk. Position 0 is always read: after a topic was replaced, a rebuild copies the
 * entities of the old log with position 0.
 */
const rangesOfFirstWalk = (target: Offsets, visible: Offsets): readonly PositionRange[] =>
  longer(target, visible).flatMap((_, partition) => {
    const below = Math.max(target[partition] ?? 0, partition === 0 ? 1 : 0)
    const from = positionAt(partition, 0)
    const end = endOfPositions(partition)
    const visibleBelow = visible[partition] ?? 0
    if (visibleBelow <= below) return [{ from, below: end }]
    return [
      { from, below: positionAt(partition, below) },
      { from: positionAt(partition, visibleBelow), below: end },
    ]
  })

const positionAt = (partition: number, offset: number): LogPosition =>
  logPosition({ partition, offset: BigInt(offset) })

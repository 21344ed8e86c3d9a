import { z } from 'zod'
import type { EntityType } from '../core/model/ids.ts'
import { endOfPositions, type LogPosition, logPosition } from '../core/model/logPosition.ts'
import type { VisibleList } from '../core/stores/readVisiblePositions.ts'
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
import { type FoundChanges, type PositionRange, rangesFrom, searchChanges } from './search/searchChanges.ts'
import type { PickRow } from './search/searchPage.ts'

const [defaultLimit, maxLimit] = [100, 1_000]

/** The value of `cursor` for changes from now on. */
const fromNowOn = 'latest'

/** Members that every row has; `fields` may name them. */
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
          `\`${fromNowOn}\`: from now on, without rows.`,
      ),
    limit: integer(maxLimit).default(defaultLimit).describe('Rows per answer, at most; fewer when rows are large.'),
    view: viewParameter.describe('`full` makes each row what the endpoint of a single item answers.'),
    ...fieldsParameter(membersOfRows, lists[type].summary, lists[type].full),
  })

type Parameters = z.output<ReturnType<typeof parametersOf>> & { readonly fields?: string | undefined }

/** A request for changes of a team's list. */
type Asked = {
  readonly ctx: RouteContext
  readonly deps: RouteDeps
  readonly scope: CursorScope
  readonly limit: number
  readonly pick: PickRow
}

/** One answer. `cursor`: where the next one begins; `hasMore`: it may have rows, even if nothing changes meanwhile. */
type Page = { readonly items: readonly Buffer[]; readonly cursor: string; readonly hasMore: boolean }

/** The route of a list's change feed. */
export function changesRoute(type: EntityType) {
  const schema = parametersOf(type)
  const respondWithChanges: Route = async (ctx, deps) => {
    const { cursor, limit, view, fields } = deps.readParameters(ctx, schema) as Parameters
    const selected = selectedFields(fields, [...membersOfRows, ...lists[type][view]])
    // Without an id, a row could not be stored.
    const picked = selected?.some((each) => each === 'id') ? selected : selected && ['id', ...selected]
    const scope = { type, teamId: ctx.state.holder.teamId, view, fields: selected }
    const asked = { ctx, deps, scope, limit, pick: pickFields(picked) }
    await send(ctx, await pageOf(asked, cursor))
  }
  return { parameters: schema, respond: respondWithChanges }
}

async function pageOf(asked: Asked, cursor: string | undefined): Promise<Page> {
  if (cursor === undefined) return await beginFirstWalk(asked)
  return cursor === fromNowOn ? await beginNow(asked) : await goOnOrWait(asked, cursor)
}

/** Holds a request that prefers to wait until there is a row for it, or its time is over. */
async function goOnOrWait(asked: Asked, cursor: string): Promise<Page> {
  const { ctx, deps, scope } = asked
  let page: Page | undefined
  await deps.waitForChange(ctx, scope.type, async () => {
    page = await goOn(asked, page?.cursor ?? cursor)
    return page.items.length > 0
  })
  return page ?? (await goOn(asked, cursor))
}

async function send(ctx: RouteContext, { items, cursor, hasMore }: Page): Promise<void> {
  const parts = items.flatMap((item, at) => (at === 0 ? [item] : [comma, item]))
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

const noPositions = (why: string) => unavailable('positions', new Error(why))

async function readVisible({ ctx, deps, scope }: Asked): Promise<VisibleList> {
  const { freshness, visible } = await deps.visibleLists.read(scope.type, scope.teamId)
  ctx.state.freshness = freshness
  if (visible === undefined) throw noPositions('not all positions are known, or deletions may be missing')
  return visible
}

async function beginFirstWalk(asked: Asked): Promise<Page> {
  const visible = await readVisible(asked)
  const cursor = { version: hashVersion(visible.version), since: [] }
  return await walk(asked, visible, cursor, {
    target: offsetsOf(visible),
    next: start,
    after: undefined,
    isFirst: true,
  })
}

async function beginNow(asked: Asked): Promise<Page> {
  const visible = await readVisible(asked)
  return { items: [], cursor: cursorNow(visible, asked.scope), hasMore: false }
}

const start = 0 as LogPosition

/**
 * Answers a cursor: nothing if its list still has the version that the last walk began with, else the next page of its walk, or the first one of
 * a new walk.
 */
async function goOn(asked: Asked, sent: string): Promise<Page> {
  const { ctx, deps, scope } = asked
  const sealed = parseCursor(sent, scope.type)
  if (sealed === 'newer') throw unavailable('capacity', new Error('a later release has issued the cursor'))
  if (sealed === 'invalid') throw invalidCursor()
  const key = deps.visibleLists.knownKey(sealed.keyId)
  const known = key && openedWith(sealed, key, scope)
  const current = ctx.state.freshness.versions[scope.type]
  if (known?.walk === undefined && current !== null && known?.version === hashVersion(current))
    return { items: [], cursor: sent, hasMore: false }
  const visible = await readVisible(asked)
  if (keyIdOf(visible.cursorKey) !== sealed.keyId) throw apiError('cursor_expired')
  const cursor = known ?? openedWith(sealed, visible.cursorKey, scope)
  return await walk(asked, visible, ...walkFrom(cursor, visible))
}

const invalidCursor = () =>
  apiError('bad_request', 'cursor must be one that was answered to the same team, list, view and fields, unchanged')

function openedWith(sealed: SealedCursor, key: VisibleList['cursorKey'], scope: CursorScope): ChangeCursor {
  const cursor = openCursor(sealed, key, scope)
  if (cursor === undefined) throw invalidCursor()
  return cursor
}

type Begun = Pick<ChangeCursor, 'version' | 'since'>

/** The walk of a cursor, or a new one, up to what is visible now. */
function walkFrom({ version, since, walk: open }: ChangeCursor, visible: VisibleList): [Begun, Walk] {
  const offsets = offsetsOf(visible)
  if (open === undefined) {
    // Redis may have been restored from an earlier state: what the client has read once is not read again.
    const target = longest(offsets, since).map((_, partition) =>
      Math.max(offsets[partition] ?? 0, since[partition] ?? 0),
    )
    return [
      { version: hashVersion(visible.version), since },
      { target, next: start, after: undefined, isFirst: false },
    ]
  }
  // The rest of the walk would be read without the rows in between, and the client would never ask for them again.
  if (open.target.some((offset, partition) => (offsets[partition] ?? 0) < offset))
    throw noPositions('visible positions are below the target of a walk')
  return [{ version, since }, open]
}

const longest = (some: Offsets, others: Offsets): Offsets => (some.length > others.length ? some : others)

/** Reads the next page of a walk, in the indices whose positions were read with it. */
async function walk(
  { ctx, deps, scope, limit, pick }: Asked,
  visible: VisibleList,
  begun: Begun,
  { target, next, after, isFirst }: Walk,
): Promise<Page> {
  const { type, teamId, view } = scope
  const { version, indices, cursorKey } = visible
  const list = { ...deps.indexReader, type, teamId, version, indices }
  const ranges = rangesFrom(isFirst ? rangesOfFirst(target, offsetsOf(visible)) : rangesOf(begun.since, target), next)
  // A walk that begins at a cursor mostly finds few changes in each partition.
  const isLong = isFirst || next > start
  const asked = { list, ranges, after, isLong, hasDeletions: !isFirst, limit, view, pick }
  const found: FoundChanges =
    ranges.length === 0 ? { items: [], next: undefined } : await searchChanges(asked, ctx.state)
  const hasMore = found.next !== undefined
  const cursor =
    found.next === undefined
      ? { version: begun.version, since: target, walk: undefined }
      : { ...begun, walk: { target, next: found.next.at, after: found.next.after, isFirst } }
  return { items: found.items, cursor: sealCursor(cursor, cursorKey, scope), hasMore }
}

/** The positions of a walk that began at a cursor. */
const rangesOf = (since: Offsets, target: Offsets): readonly PositionRange[] =>
  target.map((offset, partition) => ({
    from: positionAt(partition, since[partition] ?? 0),
    below: positionAt(partition, offset),
  }))

/**
 * The positions of a walk from the beginning: those below its target, and those that are not visible yet. Example: `a@1` has offset 3, and all below
 * offset 10 is visible. Elasticsearch does not take the record at offset 10, and takes `a@2` at offset 11. A walk up to offset 10 would leave `a` out,
 * which every list has shown since offset 3. So the client gets `a@2`, and once more when offset 11 is visible.
 *
 * Positions between the target and the visible ones are those of the next walk. Entities that a rebuild has carried over from a log that was replaced
 * share position 0: it is read also while partition 0 of the present log is empty.
 */
const rangesOfFirst = (target: Offsets, visible: Offsets): readonly PositionRange[] =>
  longest(target, visible).flatMap((_, partition) => {
    const below = Math.max(target[partition] ?? 0, partition === 0 ? 1 : 0)
    const [from, end] = [positionAt(partition, 0), endOfPositions(partition)]
    const notVisible = visible[partition] ?? 0
    if (notVisible <= below) return [{ from, below: end }]
    return [
      { from, below: positionAt(partition, below) },
      { from: positionAt(partition, notVisible), below: end },
    ]
  })

const positionAt = (partition: number, offset: number): LogPosition =>
  logPosition({ partition, offset: BigInt(offset) })

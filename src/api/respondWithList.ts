import type { WindowBound } from '../core/model/instant.ts'
import type { EntityType } from '../core/model/teamList.ts'
import { type Asked, respondConditionally } from './conditional.ts'
import type { RouteContext } from './context.ts'
import { ndjson } from './exports.ts'
import type { RouteDeps } from './routeDeps.ts'
import type { Clause } from './search/clauses.ts'
import { exportList } from './search/exportList.ts'
import type { ListReader } from './search/keptSnapshots.ts'
import { type Page, renderPage } from './search/page.ts'

/** The parameters of a list as they were understood; windows on the time of change are among them. */
type ListParameters = Readonly<Record<string, unknown>> & {
  readonly changedSince?: WindowBound | undefined
  readonly changedUntil?: WindowBound | undefined
}

/** Answers with one page of a list. */
export const answerPage = (
  ctx: RouteContext,
  type: EntityType,
  parameters: ListParameters,
  readPage: (reader: ListReader) => Promise<Page>,
): Promise<void> =>
  respondConditionally(ctx, {
    ...freshOf(type, parameters),
    parameters,
    query: (version) =>
      ctx.state.runQuery(async (signal) =>
        renderPage(await readPage({ teamId: ctx.state.holder.teamId, version, signal })),
      ),
  })

/** Answers with a whole list, a line each: what the first filter finds that finds anything. */
export const answerExport = (
  ctx: RouteContext,
  { replica, startExport }: Pick<RouteDeps, 'replica' | 'startExport'>,
  type: EntityType,
  parameters: ListParameters,
  filters: readonly (readonly Clause[])[],
): Promise<void> =>
  respondConditionally(ctx, {
    ...freshOf(type, parameters),
    parameters: { ...parameters, as: ndjson },
    query: () => startExport(ctx, (within) => exportList(replica, type, ctx.state.holder.teamId, filters, within)),
  })

const freshOf = (
  type: EntityType,
  { changedSince, changedUntil }: ListParameters,
): Pick<Asked, 'type' | 'needsWatermark' | 'alwaysExists'> => ({
  type,
  needsWatermark: changedSince !== undefined || changedUntil !== undefined,
  alwaysExists: true,
})

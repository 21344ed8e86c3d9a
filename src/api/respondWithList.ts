import type { WindowBound } from '../core/model/instant.ts'
import type { EntityType } from '../core/model/teamList.ts'
import { isNotModified, send, sendNotModified, type Validators, validatorsOf } from './conditional.ts'
import type { RouteContext, RouteDeps } from './context.ts'
import { unavailable } from './errors.ts'
import { ndjson } from './exports.ts'
import type { Clause } from './search/clauses.ts'
import { exportList } from './search/exportList.ts'
import type { ListReader } from './search/keptSnapshots.ts'
import { type Page, renderPage } from './search/page.ts'

/** The parsed parameters of a list. */
type ListParameters = Readonly<Record<string, unknown>> & {
  readonly changedSince?: WindowBound | undefined
  readonly changedUntil?: WindowBound | undefined
}

/** Answers with one page of a list. */
export async function respondWithPage(
  ctx: RouteContext,
  type: EntityType,
  parameters: ListParameters,
  readPage: (reader: ListReader) => Promise<Page>,
): Promise<void> {
  const validators = listValidators(ctx, type, parameters)
  if (isNotModified(ctx, validators)) return sendNotModified(ctx, validators)
  const { version } = validators
  const { teamId } = ctx.state.holder
  const page = await ctx.state.runQuery((signal) => readPage({ teamId, version, signal }))
  send(ctx, validators, renderPage(page))
}

/** Answers with a whole list as NDJSON: the rows of the first filter that finds any. */
export async function respondWithExport(
  ctx: RouteContext,
  { indexReader, startExport }: Pick<RouteDeps, 'indexReader' | 'startExport'>,
  type: EntityType,
  parameters: ListParameters,
  filters: readonly (readonly Clause[])[],
): Promise<void> {
  const validators = listValidators(ctx, type, { ...parameters, as: ndjson })
  if (isNotModified(ctx, validators)) return sendNotModified(ctx, validators)
  const { teamId } = ctx.state.holder
  const stream = await startExport(ctx, (runQuery) => exportList(indexReader, type, teamId, filters, runQuery))
  send(ctx, validators, stream)
}

/** The validators of a list. A window on the time of change is complete only up to a watermark, so it needs one. */
function listValidators(ctx: RouteContext, type: EntityType, parameters: ListParameters): Validators {
  const validators = validatorsOf(ctx, type, parameters)
  const needsWatermark = parameters.changedSince !== undefined || parameters.changedUntil !== undefined
  if (needsWatermark && validators.watermark === null)
    throw unavailable('watermark', new Error('no watermark is published'))
  return validators
}

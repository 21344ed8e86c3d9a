import type { z } from 'zod'
import type { TeamId } from '../core/model/ids.ts'
import type { WindowBound } from '../core/model/instant.ts'
import type { EntityType } from '../core/model/teamList.ts'
import { isNotModified, matchesAny, send, sendNotModified, type Validators, validatorsOf } from './conditional.ts'
import type { RouteContext, RouteDeps } from './context.ts'
import { apiError, unavailable } from './errors.ts'
import { asksForExport, ndjson } from './exports.ts'
import { keptOrMade } from './keptAnswers.ts'
import { pageLinks } from './pageLinks.ts'
import { noPageParameters } from './parameterSchemas.ts'
import { exportList } from './search/exportList.ts'
import { type PageRequest, renderPage } from './search/page.ts'
import type { SearchClient } from './search/searchClient.ts'
import { type Filters, searchPage } from './search/searchPage.ts'

type Route = (ctx: RouteContext, deps: RouteDeps) => Promise<void>

/** The parsed parameters that every list has, apart from the page. */
type ChangeWindow = {
  readonly changedSince?: WindowBound | undefined
  readonly changedUntil?: WindowBound | undefined
}

/** The paths of the lists below the URL of the API. */
const paths: Readonly<Record<EntityType, string>> = { forms: 'forms', submissions: 'records' }

/** The route of a list: one page of it as JSON, or all of it as NDJSON. The rows are those of the first filter that finds any. */
export function listRoute<Selection extends ChangeWindow>(
  type: EntityType,
  schema: z.ZodObject & z.ZodType<Selection & PageRequest>,
  filtersOf: (teamId: TeamId, selection: Selection) => Filters,
): Route {
  const exportSchema = schema.extend(noPageParameters)

  const respondWithPage: Route = async (ctx, { readParameters, indexReader, answers, baseUrl }) => {
    const parameters = readParameters(ctx, schema)
    const validators = listValidators(ctx, type, parameters)
    if (isNotModified(ctx, validators)) return sendNotModified(ctx, validators)
    const { version } = validators
    const { teamId } = ctx.state.holder
    const filters = filtersOf(teamId, parameters)
    const answer = await keptOrMade(ctx, answers, validators, async () => {
      const page = await ctx.state.runQuery((signal) =>
        searchPage(indexReader, type, { teamId, version, signal }, filters, parameters),
      )
      return { body: renderPage(page), totalDocs: page.totalDocs }
    })
    send(ctx, validators, answer)
    if (ctx.status === 200) setLink(ctx, `${baseUrl}/${paths[type]}`, parameters, answer.totalDocs ?? 0)
  }
  const respondWithExport: Route = async (ctx, { readParameters, indexReader, startExport }) => {
    const parameters = readParameters(ctx, exportSchema) as unknown as Selection
    const validators = listValidators(ctx, type, { ...parameters, as: ndjson })
    if (isNotModified(ctx, validators)) return sendNotModified(ctx, validators)
    const { teamId } = ctx.state.holder
    const filters = filtersOf(teamId, parameters)
    send(
      ctx,
      validators,
      await startExport(ctx, (runQuery) => exportList(indexReader, type, teamId, filters, runQuery)),
    )
  }
  return (ctx, deps) => (asksForExport(ctx) ? respondWithExport(ctx, deps) : respondWithPage(ctx, deps))
}

/** Sets the links of a page. An answer may be kept for queries that differ in what they ignore, so its links are made anew each time. */
function setLink(ctx: RouteContext, url: string, request: PageRequest, totalDocs: number): void {
  const link = pageLinks(url, ctx.querystring, request, totalDocs)
  if (link !== undefined) ctx.set('Link', link)
}

/** The validators of what is made from a list. A list that is selected by time of change is complete only up to the watermark: without one it is refused (503). */
export function listValidators(ctx: RouteContext, type: EntityType, parameters: ChangeWindow): Validators {
  const validators = validatorsOf(ctx, type, parameters)
  const needsWatermark = parameters.changedSince !== undefined || parameters.changedUntil !== undefined
  if (needsWatermark && validators.watermark === null)
    throw unavailable('watermark', new Error('no watermark is published'))
  return validators
}

/** Reads the detail of an entity as raw JSON; undefined if the team has no such entity. */
type ReadDetail<Parameters> = (
  client: SearchClient,
  teamId: TeamId,
  id: string,
  parameters: Parameters,
  signal: AbortSignal,
) => Promise<Buffer | undefined>

/** The route of a single entity, whose error answers call it `what`. */
export const detailRoute =
  <Schema extends z.ZodObject>(
    type: EntityType,
    what: 'form' | 'record',
    schema: Schema,
    read: ReadDetail<z.output<Schema>>,
  ): Route =>
  async (ctx, { readParameters, indexReader, answers }) => {
    const parameters = readParameters(ctx, schema)
    const validators = validatorsOf(ctx, type, parameters)
    if (isNotModified(ctx, validators) && !matchesAny(ctx)) return sendNotModified(ctx, validators)
    const answer = await keptOrMade(ctx, answers, validators, async () => {
      const found = await ctx.state.runQuery((signal) =>
        read(indexReader, ctx.state.holder.teamId, ctx.params['id'] ?? '', parameters, signal),
      )
      if (found === undefined) throw apiError('not_found', `no such ${what}`)
      return { body: found }
    })
    send(ctx, validators, answer)
  }

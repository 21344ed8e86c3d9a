import type { z } from 'zod'
import type { Served } from '../core/json/shape.ts'
import type { TeamId } from '../core/model/ids.ts'
import type { WindowBound } from '../core/model/instant.ts'
import type { EntityType } from '../core/model/teamList.ts'
import { largeBytes } from '../core/stores/documents.ts'
import type { RouteContext, RouteDeps } from './context.ts'
import { apiError, unavailable } from './errors.ts'
import { csv, csvContentType, csvLines, exportFormat, ndjson, ndjsonLines, readCsvTable } from './exports.ts'
import {
  type ExportParameters,
  exportParameters,
  noExportParameters,
  noLineParameters,
  noPageParameters,
} from './parameterSchemas.ts'
import {
  holdsWindow,
  isNotModified,
  keptOrMade,
  matchesAny,
  pageLinks,
  send,
  sendExport,
  sendNotModified,
  type Validators,
  validatorsOf,
} from './respond.ts'
import { windowClauses } from './search/clauses.ts'
import { hasMatches } from './search/counts.ts'
import { type ExportContent, exportList, exportPage } from './search/exports.ts'
import { LargePage, type Page, type PageRequest, renderPage, renderPageParts } from './search/page.ts'
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

/** What CSV needs to know of a list. */
type CsvOf<Selection> = {
  /** The members of an item. */
  readonly served: Served
  /** The form whose fields become columns; undefined for none. */
  formIdOf(selection: Selection): string | undefined
}

/** The route of a list: one page of it as JSON, or all of it as NDJSON or CSV. The rows are those of the first filter that finds any. */
export function listRoute<Selection extends ChangeWindow>(
  type: EntityType,
  schema: z.ZodObject & z.ZodType<Selection & PageRequest & ExportParameters>,
  filtersOf: (teamId: TeamId, selection: Selection) => Filters,
  { served, formIdOf }: CsvOf<Selection>,
): Route {
  const pageSchema = schema.extend(noExportParameters)
  const exportSchema = schema.extend(noPageParameters).superRefine(refuseUnlistedDeletions)
  const tableSchema = schema.extend({ ...noPageParameters, ...noLineParameters })

  /**
   * The validators of an answer, read anew by `validate`; of a request that prefers to wait for changes once there is one, or its time is
   * over. A change is any match, unless the request names an answer that holds it.
   */
  const onceChanged = async (
    ctx: RouteContext,
    { indexReader, waitForChange }: RouteDeps,
    selection: Selection & Partial<ExportParameters>,
    validate: () => Validators,
  ): Promise<Validators> => {
    const { changedSince } = selection
    if (changedSince === undefined) return validate()
    await waitForChange(ctx, type, async () => {
      const { etag, watermark } = validate()
      if (holdsWindow(ctx, { etag })) return 'held'
      const { teamId } = ctx.state.holder
      const content = { filters: filtersOf(teamId, selection), deletions: deletionsOf(selection) }
      const isFound = await ctx.state.runQuery((signal) => hasMatches(indexReader, type, teamId, content, signal))
      if (!isFound) return 'none'
      return watermark !== null && watermark > changedSince ? 'promised' : 'unpromised'
    })
    return validate()
  }

  const respondWithPage: Route = async (ctx, deps) => {
    const { readParameters, indexReader, answers, baseUrl } = deps
    const parameters = readParameters(ctx, pageSchema) as unknown as Selection & PageRequest
    const validators = await onceChanged(ctx, deps, parameters, () => listValidators(ctx, type, parameters))
    if (isNotModified(ctx, validators)) return sendNotModified(ctx, validators)
    // While a change may be visible already, a snapshot of this version may lack what other pages show.
    const version = validators.isSettled ? validators.version : null
    const { teamId } = ctx.state.holder
    const filters = filtersOf(teamId, parameters)
    const link = (totalDocs: number): void => setLink(ctx, `${baseUrl}/${paths[type]}`, parameters, totalDocs)
    try {
      const answer = await keptOrMade(ctx, answers, validators, async () => {
        const bytes = parameters.limit * largeBytes
        await ctx.state.holdAnswer(bytes)
        const read = (signal: AbortSignal): Promise<Page> =>
          searchPage(indexReader, type, { teamId, version, signal }, filters, parameters)
        const page = await ctx.state.runQuery(read, bytes)
        return { body: renderPage(page), totalDocs: page.totalDocs }
      })
      send(ctx, validators, answer)
      if (answer !== 'not-modified' && ctx.status === 200) link(answer.totalDocs ?? 0)
    } catch (error) {
      if (!(error instanceof LargePage)) throw error
      let totalDocs = 0
      const stream = await deps.startPage(ctx, (runQuery) => {
        const parts = exportPage(indexReader, type, teamId, filters, parameters, runQuery)
        return renderPageParts(
          parameters,
          noting(parts, ({ total }) => (totalDocs = total)),
        )
      })
      sendExport(ctx, validators, 'json', stream)
      link(totalDocs)
    }
  }
  const respondWithExport: Route = async (ctx, deps) => {
    const { readParameters, indexReader, startExport } = deps
    const parameters = readParameters(ctx, exportSchema) as unknown as Selection & ExportParameters
    const validate = () => listValidators(ctx, type, { ...parameters, as: ndjson })
    const validators = await onceChanged(ctx, deps, parameters, validate)
    if (isNotModified(ctx, validators)) return sendNotModified(ctx, validators)
    const { teamId } = ctx.state.holder
    const content = contentOf(filtersOf(teamId, parameters), parameters)
    const stream = await startExport(ctx, (runQuery) =>
      ndjsonLines(exportList(indexReader, type, teamId, content, runQuery)),
    )
    sendExport(ctx, validators, ndjson, stream)
  }
  const respondWithCsv: Route = async (ctx, deps) => {
    const { readParameters, indexReader, startExport } = deps
    const parameters = readParameters(ctx, tableSchema) as unknown as Selection
    const formId = formIdOf(parameters)
    const validate = () => listValidators(ctx, type, { ...parameters, as: csv }, formId === undefined ? [] : ['forms'])
    const validators = await onceChanged(ctx, deps, parameters, validate)
    if (isNotModified(ctx, validators)) return sendNotModified(ctx, validators)
    const { teamId } = ctx.state.holder
    const content = { filters: filtersOf(teamId, parameters), view: 'summary', deletions: undefined } as const
    const stream = await startExport(ctx, (runQuery) =>
      csvLines(
        () => readCsvTable(indexReader, teamId, served, formId, runQuery),
        exportList(indexReader, type, teamId, content, runQuery),
      ),
    )
    sendExport(ctx, validators, csvContentType, stream)
  }
  return (ctx, deps) => {
    const format = exportFormat(ctx)
    if (format === csv) return respondWithCsv(ctx, deps)
    return format === ndjson ? respondWithExport(ctx, deps) : respondWithPage(ctx, deps)
  }
}

async function* noting<Part>(parts: AsyncIterable<Part>, note: (part: Part) => void): AsyncGenerator<Part> {
  for await (const part of parts) {
    note(part)
    yield part
  }
}

const contentOf = (filters: Filters, parameters: ChangeWindow & ExportParameters): ExportContent => ({
  filters,
  view: parameters.view,
  deletions: deletionsOf(parameters),
})

const deletionsOf = ({
  includeDeleted,
  changedSince,
  changedUntil,
}: ChangeWindow & Partial<ExportParameters>): ExportContent['deletions'] =>
  includeDeleted === true ? windowClauses('tombstone.deletedAt', changedSince, changedUntil) : undefined

/** Besides these, every parameter of a list selects by something that a deleted entity has not any more. */
const besideDeletions = new Set(['changedSince', 'changedUntil', ...Object.keys(exportParameters)])

/** Refuses `includeDeleted` where it could not be told which deletions belong to the list. */
function refuseUnlistedDeletions(parameters: Readonly<Record<string, unknown>>, context: z.RefinementCtx): void {
  if (parameters['includeDeleted'] !== true) return
  const refuse = (message: string): void => context.addIssue({ code: 'custom', path: ['includeDeleted'], message })
  if (parameters['changedSince'] === undefined)
    refuse('must be false without changedSince (deletions are listed by their time)')
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined && !besideDeletions.has(name))
      refuse(`must be false with ${name} (of what was deleted only the id is known)`)
}

/** Sets the links of a page. An answer may be kept for queries that differ in what they ignore, so its links are made anew each time. */
function setLink(ctx: RouteContext, url: string, request: PageRequest, totalDocs: number): void {
  const link = pageLinks(url, ctx.querystring, request, totalDocs)
  if (link !== undefined) ctx.set('Link', link)
}

/** The validators of what is made from a list. A list that is selected by time of change is complete only up to the watermark: without one it is refused (503). */
export function listValidators(
  ctx: RouteContext,
  type: EntityType,
  parameters: ChangeWindow,
  otherTypes: readonly EntityType[] = [],
): Validators {
  const validators = validatorsOf(ctx, type, parameters, otherTypes)
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

/** What is counted for a single entity: as much as a record may have unless the broker's limit is raised. */
const detailBytes = 1024 * 1024

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
      await ctx.state.holdAnswer(detailBytes)
      const found = await ctx.state.runQuery(
        (signal) => read(indexReader, ctx.state.holder.teamId, ctx.params['id'] ?? '', parameters, signal),
        detailBytes,
      )
      if (found === undefined) throw apiError('not_found', `no such ${what}`)
      return { body: found }
    })
    send(ctx, validators, answer)
  }

import type { z } from 'zod'
import type { Served } from '../core/json/scanner.ts'
import type { TeamId } from '../core/model/ids.ts'
import type { EntityType } from '../core/model/teamList.ts'
import { largeBytes } from '../core/stores/documents.ts'
import type { ExportParts, Route, RouteContext, RouteDeps } from './context.ts'
import {
  csv,
  csvContentType,
  csvLines,
  type ExportFormat,
  exportFormat,
  ndjson,
  ndjsonLines,
  readCsvTable,
} from './exports.ts'
import {
  type ExportParameters,
  exportParameters,
  noExportParameters,
  noLineParameters,
  noPageParameters,
} from './parameterSchemas.ts'
import { type Making, respond } from './respond.ts'
import { windowClauses } from './search/clauses.ts'
import { hasMatches } from './search/counts.ts'
import { type ExportContent, exportList, exportPage } from './search/exports.ts'
import { hasLarge } from './search/large.ts'
import { maxPageBytes, type Page, type PageRequest, pageLinks, renderPage, renderPageParts } from './search/page.ts'
import type { RunQuery } from './search/searchClient.ts'
import { type Filters, searchPage } from './search/searchPage.ts'
import { type ChangeWindow, holdsWindow, type Validators, validatorsOf } from './validators.ts'

/** The paths of the lists below the URL of the API. */
const paths: Readonly<Record<EntityType, string>> = { forms: 'forms', submissions: 'records' }

/** What is particular to a list. */
type ListOf<Selection> = {
  readonly type: EntityType
  /** The rows are those of the first filter that finds any. */
  filtersOf(teamId: TeamId, selection: Selection): Filters
  /** The members of an item, which become columns of CSV. */
  readonly served: Served
  /** The form whose fields become columns; undefined for none. */
  formIdOf(selection: Selection): string | undefined
}

/** What every list has of a request in any format; what its format does not have is undefined. */
type Parameters<Selection> = Selection & PageRequest & ExportParameters

/** The route of a list: one page of it as JSON, or all of it as NDJSON or CSV. */
export function listRoute<Selection extends ChangeWindow>(
  list: ListOf<Selection>,
  schema: z.ZodObject & z.ZodType<Parameters<Selection>>,
): Route {
  const schemas = {
    page: schema.extend(noExportParameters),
    [ndjson]: schema.extend(noPageParameters).superRefine(refuseUnlistedDeletions),
    [csv]: schema.extend({ ...noPageParameters, ...noLineParameters }),
  }
  return async (ctx, deps) => {
    const format = exportFormat(ctx)
    const parameters = deps.readParameters(ctx, schemas[format ?? 'page']) as unknown as Parameters<Selection>
    const formId = format === csv ? list.formIdOf(parameters) : undefined
    const named = format === undefined ? parameters : { ...parameters, as: format }
    const validate = () => validatorsOf(ctx, list.type, named, formId === undefined ? [] : ['forms'])
    await untilChanged(list, parameters, ctx, deps, validate)
    const validators = validate()
    const making =
      format === undefined
        ? makePage(list, parameters, validators, ctx, deps)
        : makeExport(list, parameters, format, ctx, deps)
    await respond(ctx, deps.answers, validators, making)
  }
}

/**
 * Holds a request that prefers to wait for changes until there is one, or its time is over; `validate` reads its validators anew. A change is
 * any match, unless the request names an answer that holds it.
 */
async function untilChanged<Selection extends ChangeWindow>(
  { type, filtersOf }: ListOf<Selection>,
  selection: Selection & Partial<ExportParameters>,
  ctx: RouteContext,
  { indexReader, waitForChange }: RouteDeps,
  validate: () => Validators,
): Promise<void> {
  const { changedSince } = selection
  if (changedSince === undefined) return
  await waitForChange(ctx, type, async () => {
    const { etag, watermark } = validate()
    if (holdsWindow(ctx, { etag })) return 'held'
    const { teamId } = ctx.state.holder
    const content = { filters: filtersOf(teamId, selection), deletions: deletionsOf(selection) }
    const isFound = await ctx.state.runQuery((signal) => hasMatches(indexReader, type, teamId, content, signal))
    if (!isFound) return 'none'
    return watermark !== null && watermark > changedSince ? 'promised' : 'unpromised'
  })
}

/**
 * What a page of a list with large rows counts while it is read: so a team's are read two at a time. Its rows are found and weighed by several
 * searches, each of which, among thousands of long titles, takes Elasticsearch as long as many small pages.
 */
const largeListBytes = 8 * 1024 * 1024

function makePage<Selection>(
  { type, filtersOf }: ListOf<Selection>,
  parameters: Selection & PageRequest,
  { isSettled, version: known }: Validators,
  ctx: RouteContext,
  { indexReader, startPage, baseUrl }: RouteDeps,
): Making {
  const { holder, holdAnswer, runQuery } = ctx.state
  const { teamId } = holder
  const filters = filtersOf(teamId, parameters)
  // While a change may be visible already, a snapshot of this version may lack what other pages show.
  const version = isSettled ? known : null
  return {
    whole: async () => {
      const isLarge = await hasLarge(indexReader, type, 'summary', { teamId, version }, runQuery)
      const bytes = parameters.limit * largeBytes
      await holdAnswer(isLarge ? maxPageBytes : bytes)
      const read = (signal: AbortSignal): Promise<Page> =>
        searchPage(indexReader, type, { teamId, version, signal }, filters, parameters, isLarge)
      const page = await runQuery(read, isLarge ? largeListBytes : bytes)
      return { body: renderPage(page), totalDocs: page.totalDocs }
    },
    parts: async () => {
      let totalDocs = 0
      const body = await startPage(ctx, (runPart) => {
        const parts = exportPage(indexReader, type, teamId, filters, parameters, runPart)
        return renderPageParts(parameters, parts, (total) => (totalDocs = total))
      })
      return { body, totalDocs, contentType: 'json' }
    },
    linkOf: (totalDocs) => pageLinks(`${baseUrl}/${paths[type]}`, ctx.querystring, parameters, totalDocs),
  }
}

function makeExport<Selection extends ChangeWindow>(
  { type, filtersOf, served, formIdOf }: ListOf<Selection>,
  parameters: Selection & Partial<ExportParameters>,
  format: ExportFormat,
  ctx: RouteContext,
  { indexReader, startExport }: RouteDeps,
): Making {
  const { teamId } = ctx.state.holder
  const { view = 'summary' } = parameters
  const content = { filters: filtersOf(teamId, parameters), view, deletions: deletionsOf(parameters) }
  const lines = (runQuery: RunQuery): ExportParts => {
    const rows = exportList(indexReader, type, teamId, content, runQuery)
    if (format === ndjson) return ndjsonLines(rows)
    return csvLines(() => readCsvTable(indexReader, teamId, served, formIdOf(parameters), runQuery), rows)
  }
  const contentType = format === csv ? csvContentType : format
  return { parts: async () => ({ body: await startExport(ctx, lines), contentType }) }
}

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

import type { z } from 'zod'
import type { Served } from '../core/json/scanner.ts'
import { servedForm, servedFormSummary } from '../core/model/form.ts'
import type { EntityType, TeamId } from '../core/model/ids.ts'
import { attempt } from '../core/model/schema.ts'
import { servedSubmission, servedSubmissionSummary } from '../core/model/submission.ts'
import { cursorNow } from './changeCursor.ts'
import type { Route, RouteContext, RouteDeps } from './context.ts'
import { apiError } from './errors.ts'
import { type Validators, validatorsOf } from './etag.ts'
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
import { fieldsParameter, pickFields, selectedFields } from './fields.ts'
import { exportParameters, type ListParameters, pageParameters } from './parameters.ts'
import { type AnswerMaker, respond } from './respond.ts'
import type { Filters } from './search/clauses.ts'
import { readDetail } from './search/details.ts'
import { exportList, exportPage } from './search/exportRows.ts'
import { weighDetail } from './search/largeRows.ts'
import { pageLinks, readPage, renderPage, renderPageParts } from './search/searchPage.ts'

/** `path`: below `/api/v1`. `summary`: members of an item in a list, and columns of CSV. `full`: members of a single item. */
export const lists = {
  forms: { path: 'forms', summary: servedFormSummary, full: servedForm },
  submissions: { path: 'records', summary: servedSubmissionSummary, full: servedSubmission },
} as const

type Parameters = ListParameters & { readonly formId?: string | undefined }

type ListRequest = {
  readonly ctx: RouteContext
  readonly deps: RouteDeps
  readonly type: EntityType
  readonly filters: Filters
  readonly parameters: Parameters
  /** Undefined: all members. */
  readonly fields: Served | undefined
}

/** The endpoint of a single item, made by `render` from the stored detail. */
export function detailRoute<Schema extends z.ZodObject>(
  type: EntityType,
  ownParameters: Schema,
  render: (detail: Buffer, parameters: z.output<Schema>) => Buffer,
) {
  const schema = ownParameters.extend(fieldsParameter(lists[type].full))
  const respondWithDetail: Route = async (ctx, { readParameters, indexReader, answers }) => {
    const parameters = readParameters(ctx, schema) as z.output<Schema> & { readonly fields?: string }
    const pick = pickFields(selectedFields(parameters.fields, lists[type].full))
    const validators = validatorsOf(ctx, type, parameters)
    const { accountKey, turns } = ctx.state
    const id = ctx.params['id'] ?? ''
    const makeWhole = async () => {
      const { version, indices } = validators
      const list = { ...indexReader, type, teamId: accountKey.teamId, version, indices }
      const bytes = await weighDetail(list, id, turns.run)
      await turns.reserve(bytes)
      const detail = await turns.run((signal) => readDetail(list, id, signal), bytes)
      if (detail === undefined) throw apiError('not_found', type === 'forms' ? 'no such form' : 'no such record')
      return { body: pick(render(detail, parameters)) }
    }
    await respond(ctx, answers, validators, { kind: 'whole', makeWhole, mayBeMissing: true })
  }
  return { parameters: schema, respond: respondWithDetail }
}

/** The endpoint of a list: by `Accept`, a page as JSON, or an export as NDJSON or CSV. */
export function listRoute<Selection extends Parameters>(
  type: EntityType,
  ownParameters: z.ZodObject & z.ZodType<Selection>,
  filtersOf: (teamId: TeamId, selection: Selection, hasAnswers: boolean) => Filters,
) {
  const schema = ownParameters.extend(fieldsParameter(lists[type].summary, lists[type].full))
  // Each format refuses the parameters that only other formats have.
  const schemas = {
    page: schema.superRefine(
      refuseUnlessDefault(exportParameters, `belongs to exports (Accept: ${ndjson}): it must be left out of a page`),
    ),
    [ndjson]: schema.superRefine(refusePageParameters),
    [csv]: schema
      .superRefine(refusePageParameters)
      .superRefine(
        refuseUnlessDefault(exportParameters, `belongs to NDJSON (Accept: ${ndjson}): it must be left out of CSV`),
      ),
  }
  const respondWithList: Route = async (ctx, deps) => {
    const format = exportFormat(ctx)
    const parameters = deps.readParameters(ctx, schemas[format ?? 'page']) as Selection
    const fields = selectedFields(parameters.fields, lists[type][parameters.view])
    const filters = filtersOf(ctx.state.accountKey.teamId, parameters, deps.indexReader.hasAnswers)
    const request = { ctx, deps, type, parameters, fields, filters }
    // CSV of one form's submissions has columns for the form's fields, so its ETag depends on the forms, too.
    const otherTypes = format === csv && parameters.formId !== undefined ? (['forms'] as const) : []
    // `as`: each format has an ETag of its own.
    const validators = validatorsOf(ctx, type, { ...parameters, as: format }, ...otherTypes)
    const maker = format === undefined ? pageMaker(request, validators) : exportMaker(request, format)
    const totalDocs = await respond(ctx, deps.answers, validators, maker)
    if (totalDocs !== undefined) setLink(request, totalDocs)
  }
  return { parameters: schema, respond: respondWithList }
}

function pageMaker(request: ListRequest, { version, indices }: Validators): AnswerMaker {
  const { ctx, deps, type, filters, parameters, fields } = request
  const { accountKey, turns } = ctx.state
  const pick = pickFields(fields)
  const list = { ...deps.indexReader, type, teamId: accountKey.teamId, version, indices }
  const makeWhole = async () => {
    const page = await readPage(list, filters, parameters, turns)
    return { body: renderPage(parameters, page, pick), totalDocs: page.total }
  }
  const startParts = async () => {
    let totalDocs = 0
    const rows = exportPage(list, filters, parameters, turns.runPart)
    const rendered = renderPageParts(parameters, rows, pick, (total) => (totalDocs = total))
    // Resolves with the first part: then the total is known.
    const body = await deps.startStream('large pages', ctx, rendered)
    return { body, totalDocs, contentType: 'json' }
  }
  return { kind: 'whole or parts', makeWhole, startParts }
}

/** `Link` is not cached with the page: it repeats ignored parameters, too, and these do not distinguish cached pages. */
function setLink({ ctx, deps, type, parameters }: ListRequest, totalDocs: number): void {
  const link = pageLinks(`${deps.baseUrl}/${lists[type].path}`, ctx.querystring, parameters, totalDocs)
  if (link !== undefined) ctx.set('Link', link)
}

function exportMaker(request: ListRequest, format: ExportFormat): AnswerMaker {
  const { ctx, deps, type, filters, parameters, fields } = request
  const { accountKey, turns, freshness } = ctx.state
  const { teamId } = accountKey
  const { view, formId } = parameters
  const content = { filters, view, pick: pickFields(fields) }
  // Version null: nothing that is read of the forms is cached.
  const forms = { ...deps.indexReader, type: 'forms' as const, teamId, version: null, indices: freshness.indices.forms }
  const readTable = () => readCsvTable(forms, fields ?? lists[type].summary, formId, turns.runPart)
  const startParts = async () => {
    const { indices } = await setChangesCursor(request)
    const rows = exportList({ ...deps.indexReader, type, teamId, indices }, content, turns.runPart)
    const lines = format === ndjson ? ndjsonLines(rows) : csvLines(readTable, rows)
    return {
      body: await deps.startStream('exports', ctx, lines),
      contentType: format === csv ? csvContentType : format,
    }
  }
  return { kind: 'parts', startParts }
}

/**
 * Sets `Changes-Cursor`, with which a client continues in the change feed after this export. The export must search the returned indices, of which
 * the cursor's visible positions are true. Otherwise:
 *
 * 1. The positions are read.
 * 2. A rebuild switches to new indices, which lack a row below the positions.
 * 3. The export searches the new indices: the client gets the row neither in the export nor in the change feed.
 */
async function setChangesCursor({ ctx, deps, type, parameters, fields }: ListRequest) {
  const { teamId } = ctx.state.accountKey
  const { freshness, visible } = await deps.visibleLists.read(type, teamId)
  // A topic with too many partitions for a cursor has no change feed, but can be exported.
  const cursor = visible && attempt(() => cursorNow(visible, { type, teamId, view: parameters.view, fields }))
  if (cursor !== undefined) ctx.set('Changes-Cursor', cursor)
  return { indices: freshness.indices[type] }
}

/** Default values are accepted, because some clients always send them. */
function refuseUnlessDefault(parameterSchemas: Readonly<Record<string, z.ZodType>>, message: string) {
  const defaults = Object.entries(parameterSchemas).map(([name, schema]) => [name, schema.parse(undefined)] as const)
  return (parameters: Readonly<Record<string, unknown>>, context: z.RefinementCtx): void => {
    for (const [name, value] of defaults)
      if (parameters[name] !== value) context.addIssue({ code: 'custom', path: [name], message })
  }
}
const refusePageParameters = refuseUnlessDefault(pageParameters, 'belongs to pages: it must be left out of an export')

import type { z } from 'zod'
import { largeBytes } from '../core/elasticsearch/documentFormat.ts'
import type { Served } from '../core/json/scanner.ts'
import { servedForm, servedFormSummary } from '../core/model/form.ts'
import type { EntityType, TeamId } from '../core/model/ids.ts'
import { attempt } from '../core/model/schema.ts'
import { servedSubmission, servedSubmissionSummary } from '../core/model/submission.ts'
import { cursorNow } from './changeCursor.ts'
import type { ExportParts, Route, RouteContext, RouteDeps } from './context.ts'
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
import { type Making, respond } from './respond.ts'
import type { Filters } from './search/clauses.ts'
import { readDetail } from './search/details.ts'
import { exportList, exportPage } from './search/exportRows.ts'
import { hasLarge, weighDetail } from './search/largeRows.ts'
import type { RunQuery } from './search/searchClient.ts'
import { maxPageBytes, pageLinks, renderPage, renderPageParts, searchPage } from './search/searchPage.ts'

/** `path`: below the URL of the API. `summary`: members of an item in the list, and the columns of CSV. `full`: members of a whole item. */
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

export function detailRoute<Schema extends z.ZodObject>(
  type: EntityType,
  own: Schema,
  render: (detail: Buffer, parameters: z.output<Schema>) => Buffer,
) {
  const schema = own.extend(fieldsParameter(lists[type].full))
  const respondWithDetail: Route = async (ctx, { readParameters, indexReader, answers }) => {
    const parameters = readParameters(ctx, schema) as z.output<Schema> & { readonly fields?: string }
    const pick = pickFields(selectedFields(parameters.fields, lists[type].full))
    const validators = validatorsOf(ctx, type, parameters)
    const { holder, runQuery, holdAnswer } = ctx.state
    const id = ctx.params['id'] ?? ''
    const whole = async () => {
      const { version, indices } = validators
      const list = { ...indexReader, type, teamId: holder.teamId, version, indices }
      const bytes = await weighDetail(list, id, runQuery)
      await holdAnswer(bytes)
      const detail = await runQuery((signal) => readDetail(list, id, signal), bytes)
      if (detail === undefined) throw apiError('not_found', type === 'forms' ? 'no such form' : 'no such record')
      return { body: pick(render(detail, parameters)) }
    }
    await respond(ctx, answers, validators, { whole, mayBeMissing: true })
  }
  return { parameters: schema, respond: respondWithDetail }
}

/** A page as JSON, or an export as NDJSON or CSV. */
export function listRoute<Selection extends Parameters>(
  type: EntityType,
  own: z.ZodObject & z.ZodType<Selection>,
  filtersOf: (teamId: TeamId, selection: Selection, hasAnswers: boolean) => Filters,
) {
  const schema = own.extend(fieldsParameter(lists[type].summary, lists[type].full))
  const schemas = {
    page: schema.superRefine(
      expectDefaults(exportParameters, `belongs to exports (Accept: ${ndjson}): it must be left out of a page`),
    ),
    [ndjson]: schema.superRefine(ofPages),
    [csv]: schema
      .superRefine(ofPages)
      .superRefine(
        expectDefaults(exportParameters, `belongs to NDJSON (Accept: ${ndjson}): it must be left out of CSV`),
      ),
  }
  const respondWithList: Route = async (ctx, deps) => {
    const format = exportFormat(ctx)
    const parameters = deps.readParameters(ctx, schemas[format ?? 'page']) as Selection
    const fields = selectedFields(parameters.fields, lists[type][parameters.view])
    const filters = filtersOf(ctx.state.holder.teamId, parameters, deps.indexReader.hasAnswers)
    const request = { ctx, deps, type, parameters, fields, filters }
    // CSV of one form's submissions has a column for each field of the form, so its ETag depends on the forms, too.
    const otherTypes = format === csv && parameters.formId !== undefined ? (['forms'] as const) : []
    const validators = validatorsOf(ctx, type, { ...parameters, as: format }, ...otherTypes)
    const making = format === undefined ? makePage(request, validators) : makeExport(request, format)
    await respond(ctx, deps.answers, validators, making)
  }
  return { parameters: schema, respond: respondWithList }
}

/**
 * The weight in `queryQueue.ts` of a page with large rows: a team reads two at a time. Such a page takes several searches. Among thousands of long
 * titles, each costs Elasticsearch as much as many small pages.
 */
const largeListBytes = 8 * 1024 * 1024

function makePage(request: ListRequest, { version, indices }: Validators): Making {
  const { ctx, deps, type, filters, parameters, fields } = request
  const { holder, holdAnswer, runQuery } = ctx.state
  const pick = pickFields(fields)
  const list = { ...deps.indexReader, type, teamId: holder.teamId, version, indices }
  return {
    whole: async () => {
      const isLarge = await hasLarge(list, 'summary', runQuery)
      const bytes = parameters.limit * largeBytes
      await holdAnswer(isLarge ? maxPageBytes : bytes)
      const page = await runQuery(
        (signal) => searchPage(list, filters, parameters, isLarge, signal),
        isLarge ? largeListBytes : bytes,
      )
      return { body: renderPage(parameters, page, pick), totalDocs: page.total }
    },
    parts: async () => {
      let totalDocs = 0
      const body = await deps.startStream('large pages', ctx, (runPart) => {
        const parts = exportPage(list, filters, parameters, runPart)
        return renderPageParts(parameters, parts, pick, (total) => (totalDocs = total))
      })
      return { body, totalDocs, contentType: 'json' }
    },
    linkOf: (totalDocs) => pageLinks(`${deps.baseUrl}/${lists[type].path}`, ctx.querystring, parameters, totalDocs),
  }
}

function makeExport(request: ListRequest, format: ExportFormat): Making {
  const { ctx, deps, type, filters, parameters, fields } = request
  const { teamId } = ctx.state.holder
  const { view, formId } = parameters
  const content = { filters, view, pick: pickFields(fields) }
  const { freshness } = ctx.state
  const forms = { ...deps.indexReader, type: 'forms' as const, teamId, version: null, indices: freshness.indices.forms }
  const readTable = (runPart: RunQuery) => readCsvTable(forms, fields ?? lists[type].summary, formId, runPart)
  const parts = async () => {
    const indices = await nameChangesCursor(request)
    const lines = (runPart: RunQuery): ExportParts => {
      const rows = exportList({ ...deps.indexReader, type, teamId, indices }, content, runPart)
      return format === ndjson ? ndjsonLines(rows) : csvLines(() => readTable(runPart), rows)
    }
    return {
      body: await deps.startStream('exports', ctx, lines),
      contentType: format === csv ? csvContentType : format,
    }
  }
  return { parts }
}

/**
 * Sets `Changes-Cursor`, with which a client continues in the change feed after this export. The export must search the returned indices, to which
 * the cursor's positions belong. Otherwise:
 *
 * 1. The positions are read.
 * 2. A rebuild switches to new indices, which lack a row below the positions.
 * 3. The export searches the new indices: the client gets the row neither in the export nor in the change feed.
 */
async function nameChangesCursor({ ctx, deps, type, parameters, fields }: ListRequest) {
  const { teamId } = ctx.state.holder
  const { freshness, visible } = await deps.visibleLists.read(type, teamId)
  // A topic may have too many partitions for a cursor. Then its list has no change feed, but can be exported.
  const cursor = visible && attempt(() => cursorNow(visible, { type, teamId, view: parameters.view, fields }))
  if (cursor !== undefined) ctx.set('Changes-Cursor', cursor)
  return freshness.indices[type]
}

/** Refuses parameters that do not apply to a format, unless they have their default values, which some clients always send. */
function expectDefaults(schemas: Readonly<Record<string, z.ZodType>>, message: string) {
  const defaults = Object.entries(schemas).map(([name, schema]) => [name, schema.parse(undefined)] as const)
  return (parameters: Readonly<Record<string, unknown>>, context: z.RefinementCtx): void => {
    for (const [name, value] of defaults)
      if (parameters[name] !== value) context.addIssue({ code: 'custom', path: [name], message })
  }
}
const ofPages = expectDefaults(pageParameters, 'belongs to pages: it must be left out of an export')

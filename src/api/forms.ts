import { z } from 'zod'
import { rawMembers, renderObject } from '../core/json/rawJson.ts'
import { scenes } from '../core/model/form.ts'
import type { TeamId } from '../core/model/ids.ts'
import { isNotModified, matchesAny, send, sendNotModified, validatorsOf } from './conditional.ts'
import type { RouteContext, RouteDeps } from './context.ts'
import { asksForExport } from './exports.ts'
import { changedParameters, flag, noPageParameters, oneOf, pageParameters, title } from './parameterSchemas.ts'
import { RequestError } from './requestError.ts'
import { respondWithExport, respondWithPage } from './respondWithList.ts'
import { type Clause, termClauses, windowClauses } from './search/clauses.ts'
import type { IndexReader } from './search/indexReader.ts'
import type { ListReader } from './search/keptSnapshots.ts'
import type { Page, PageRequest } from './search/page.ts'
import { readDetail } from './search/readDetail.ts'
import type { SearchClient } from './search/searchClient.ts'
import { searchPage } from './search/searchPage.ts'
import { exactTitle, similarTitles } from './search/titleQuery.ts'

export const listFormsParameters = z.object({
  scene: oneOf(scenes).describe('Only forms of this scene.'),
  titleContains: title.describe(
    'Only forms whose title holds this text, or all of its words in any order; when there are none, those with words that differ by small slips.',
  ),
  ...pageParameters,
  ...changedParameters,
})
const exportFormsParameters = listFormsParameters.extend(noPageParameters)

/** What selects forms; a blank `titleContains` selects every title. */
type FormsFilter = Omit<z.output<typeof listFormsParameters>, keyof typeof pageParameters>

export const getFormParameters = z.object({
  includeFields: flag.describe('`false` leaves out `fields`.'),
  includeReport: flag.describe('`false` leaves out `report`.'),
})

/** GET /api/v1/forms */
export async function listForms(ctx: RouteContext, deps: RouteDeps): Promise<void> {
  if (asksForExport(ctx)) return await exportForms(ctx, deps)
  const parameters = deps.readParameters(ctx, listFormsParameters)
  await respondWithPage(ctx, 'forms', parameters, (reader) =>
    findForms(deps.indexReader, reader, parameters, parameters),
  )
}

async function exportForms(ctx: RouteContext, deps: RouteDeps): Promise<void> {
  const parameters = deps.readParameters(ctx, exportFormsParameters)
  await respondWithExport(ctx, deps, 'forms', parameters, formsFilters(ctx.state.holder.teamId, parameters))
}

/** GET /api/v1/forms/{id} */
export async function getForm(ctx: RouteContext, { indexReader, readParameters }: RouteDeps): Promise<void> {
  const parameters = readParameters(ctx, getFormParameters)
  const validators = validatorsOf(ctx, 'forms', parameters)
  if (isNotModified(ctx, validators) && !matchesAny(ctx)) return sendNotModified(ctx, validators)
  const form = await ctx.state.runQuery((signal) =>
    readForm(indexReader, ctx.state.holder.teamId, ctx.params['id'] ?? '', parameters, signal),
  )
  if (form === undefined) throw new RequestError({ kind: 'not_found', what: 'form' })
  send(ctx, validators, form)
}

/**
 * The filters of a list of forms, in the order in which they apply: each one counts only if those before it find nothing. The first
 * one finds titles as typed, those after it titles with more and more misspelt letters.
 */
function formsFilters(
  teamId: TeamId,
  { scene, titleContains, changedSince, changedUntil }: FormsFilter,
): readonly [readonly Clause[], ...(readonly Clause[])[]] {
  const filters = [...termClauses('scene', scene), ...windowClauses('changedAt', changedSince, changedUntil)]
  const typed = titleContains?.trim() ?? ''
  if (typed === '') return [filters]
  const exact = [...filters, exactTitle(teamId, typed)]
  return [exact, ...similarTitles(teamId, typed).map((similar) => [...filters, similar])]
}

/** One page of a team's forms, newest first. */
export async function findForms(
  indexReader: IndexReader,
  reader: ListReader,
  filter: FormsFilter,
  { page, limit }: PageRequest,
): Promise<Page> {
  const [first, ...others] = formsFilters(reader.teamId, filter)
  let found = await searchPage(indexReader, 'forms', reader, first, { page, limit })
  for (const other of others) {
    if (found.totalDocs > 0) break
    found = await searchPage(indexReader, 'forms', reader, other, { page, limit })
  }
  return found
}

/** A form as raw JSON, without the parts that are left out; undefined if the team has no such form. */
export async function readForm(
  client: SearchClient,
  teamId: TeamId,
  id: string,
  { includeFields, includeReport }: z.output<typeof getFormParameters>,
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  const form = await readDetail(client, 'form-details', teamId, id, signal)
  if (form === undefined || (includeFields && includeReport)) return form
  const omitted = new Set([...(includeFields ? [] : ['fields']), ...(includeReport ? [] : ['report'])])
  return Buffer.from(renderObject([...rawMembers(form.toString())].filter(([name]) => !omitted.has(name))))
}

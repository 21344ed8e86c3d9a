import { z } from 'zod'
import { rawMembers, renderObject } from '../core/json/rawJson.ts'
import { formSchema, scenes, servedForm, servedFormSummary } from '../core/model/form.ts'
import type { TeamId } from '../core/model/ids.ts'
import type { Endpoint } from './endpoint.ts'
import { detailRoute, listRoute } from './entityRoutes.ts'
import { jsonSchemaOf, pageSchema, servedSchema } from './openapi/jsonSchema.ts'
import { flag, listParameters, oneOf, title } from './parameters.ts'
import { type Filters, termClauses, windowClauses } from './search/clauses.ts'
import { exactTitle, similarTitles } from './search/titleQuery.ts'

const listFormsParameters = z.object({
  scene: oneOf(scenes).describe('Only forms of this scene.'),
  titleContains: title.describe(
    'Only forms whose title contains this text, or all of its words in any order. If there is no such form, words may have small misspellings.',
  ),
  ...listParameters,
})

const getFormParameters = z.object({
  includeFields: flag(true).describe('`false` leaves out `fields`.'),
  includeReport: flag(true).describe('`false` leaves out `report`.'),
})

/** The first filter matches titles as typed; each further filter, used if all before it find nothing, allows more typos. */
function formsFilters(teamId: TeamId, selection: z.output<typeof listFormsParameters>): Filters {
  const { scene, titleContains, changedSince, changedUntil } = selection
  const otherClauses = [...termClauses('scene', scene), ...windowClauses('changedAt', changedSince, changedUntil)]
  const typed = titleContains?.trim() ?? ''
  if (typed === '') return [otherClauses]
  const exact = [...otherClauses, exactTitle(teamId, typed)]
  return [exact, ...similarTitles(teamId, typed).map((similar) => [...otherClauses, similar])]
}

function withoutParts(form: Buffer, { includeFields, includeReport }: z.output<typeof getFormParameters>): Buffer {
  if (includeFields && includeReport) return form
  const omitted = new Set([...(includeFields ? [] : ['fields']), ...(includeReport ? [] : ['report'])])
  return Buffer.from(renderObject([...rawMembers(form.toString())].filter(([name]) => !omitted.has(name))))
}

export const listForms = listRoute('forms', listFormsParameters, formsFilters)

export const getForm = detailRoute('forms', getFormParameters, withoutParts)

const jsonSchema = jsonSchemaOf(formSchema)

export const formSchemas = {
  FormSummary: servedSchema(jsonSchema, servedFormSummary),
  Form: servedSchema(jsonSchema, servedForm),
  FormList: pageSchema('FormSummary'),
} as const

export const formEndpoints: readonly Endpoint<keyof typeof formSchemas>[] = [
  {
    path: '/forms',
    ...listForms,
    operationId: 'listForms',
    summary: 'List forms',
    description: "All forms of the key's team, newest first by `createdAt`, then by `id` descending.",
    answer: 'FormList',
    exportedRow: 'form',
  },
  {
    path: '/forms/:id',
    ...getForm,
    operationId: 'getForm',
    summary: 'Get one form',
    description: 'A form with its fields and the configuration of its report.',
    answer: 'Form',
  },
]

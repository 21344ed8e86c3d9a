import { z } from 'zod'
import type { Served } from '../json/shape.ts'
import { identifier, instant, optionalArray, optionalBoolean, optionalObject, optionalString } from './schema.ts'

export const scenes = ['knowledge_quiz', 'random_knowledge_quiz', 'scored_quiz', 'outcome_quiz'] as const
export type Scene = (typeof scenes)[number]

/** A form as a record carries it: the specification's Form. */
export const formSchema = z.object({
  id: identifier.describe('The form identifier.'),
  title: z.string(),
  scene: z.enum(scenes),
  createdAt: instant,
  updatedAt: instant,
  language: optionalString.describe('Locale code of the form, such as `en_US`.'),
  publicToken: optionalString.describe('Short public token of the form.'),
  shareUrl: optionalString.describe('Public URL of the form, built on the public token.'),
  localization: optionalObject,
  isActive: optionalBoolean,
  description: optionalString,
  layout: optionalString.describe('A layout name.'),
  systemText: optionalObject,
  fields: optionalArray.describe('Questions and page breaks; left out with `includeFields=false`.'),
  report: optionalObject.describe(
    'Configuration of report and dimension analysis; left out with `includeReport=false`.',
  ),
})
export type Form = z.output<typeof formSchema>

/** What is served of a form in the forms list, in the specification's order. */
export const servedFormSummary = [
  ...['id', 'title', 'scene', 'language', 'publicToken', 'shareUrl', 'localization', 'isActive'],
  ...['createdAt', 'updatedAt'],
] satisfies Served

/** What is served of a form alone; `fields` and `report` stand last. */
export const servedForm = [
  ...servedFormSummary,
  ...['description', 'layout', 'systemText', 'fields', 'report'],
] satisfies Served

import { z } from 'zod'
import { type RawObject, renderObject } from './rawJson.ts'
import { identifier, instant, optionalArray, optionalBoolean, optionalObject, optionalString } from './schema.ts'

export const scenes = ['knowledge_quiz', 'random_knowledge_quiz', 'scored_quiz', 'outcome_quiz'] as const
export type Scene = (typeof scenes)[number]

/** A form as a record carries it: the specification's Form. */
export const formSchema = z.object({
  id: identifier,
  title: z.string(),
  scene: z.enum(scenes),
  createdAt: instant,
  updatedAt: instant,
  language: optionalString,
  publicToken: optionalString,
  shareUrl: optionalString,
  localization: optionalObject,
  isActive: optionalBoolean,
  description: optionalString,
  layout: optionalString,
  systemText: optionalObject,
  fields: optionalArray,
  report: optionalObject,
})
export type Form = z.output<typeof formSchema>

/** A form as the forms list serves it, in the specification's order. */
export const renderFormSummary = (form: Form, raw: RawObject): string => renderObject(summaryMembers(form, raw))

/** A form as it is served alone; `fields` and `report` stand last. */
export const renderFormDetail = (form: Form, raw: RawObject): string =>
  renderObject([
    ...summaryMembers(form, raw),
    ...['description', 'layout', 'systemText', 'fields', 'report'].map((name) => [name, raw.get(name)] as const),
  ])

const summaryMembers = (form: Form, raw: RawObject): (readonly [string, string | undefined])[] => [
  ...['id', 'title', 'scene', 'language', 'publicToken', 'shareUrl', 'localization', 'isActive'].map(
    (name) => [name, raw.get(name)] as const,
  ),
  ['createdAt', JSON.stringify(form.createdAt)],
  ['updatedAt', JSON.stringify(form.updatedAt)],
]

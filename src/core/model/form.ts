import { z } from 'zod'
import type { Served } from '../json/scanner.ts'
import { identifier, instant, optionalArray, optionalBoolean, optionalObject, optionalString } from './schema.ts'

export const scenes = ['knowledge_quiz', 'random_knowledge_quiz', 'scored_quiz', 'outcome_quiz'] as const
export type Scene = (typeof scenes)[number]

/** A form as its Kafka record has it (docs/records.md). */
export const formSchema = z.object({
  id: identifier.meta({ description: 'The form identifier.', examples: ['66f2a1c4e8b0'] }),
  title: z.string().meta({ examples: ['Product Knowledge Quiz'] }),
  scene: z.enum(scenes),
  createdAt: instant.meta({ examples: ['2026-03-01T09:30:00.000Z'] }),
  updatedAt: instant.meta({ examples: ['2026-03-02T10:00:00.250Z'] }),
  language: optionalString.meta({ description: 'Locale code of the form.', examples: ['en_US'] }),
  publicToken: optionalString.meta({ description: 'Short public token of the form.', examples: ['a1B2c3'] }),
  shareUrl: optionalString.meta({
    description: 'Public URL of the form, built on the public token.',
    examples: ['https://quiz.example/f/a1B2c3'],
  }),
  localization: optionalObject,
  isActive: optionalBoolean.meta({ examples: [true] }),
  description: optionalString.meta({ examples: ['What do you know about our products?'] }),
  layout: optionalString.meta({ description: 'A layout name.', examples: ['one_per_page'] }),
  systemText: optionalObject.meta({ examples: [{ submit: 'Send' }] }),
  fields: optionalArray.meta({
    description: 'Questions and page breaks; left out with `includeFields=false`.',
    examples: [[{ code: 'q1', type: 'single_choice' }, { type: 'page_break' }]],
  }),
  report: optionalObject.meta({
    description: 'Configuration of report and dimension analysis; left out with `includeReport=false`.',
    examples: [{ dimensions: ['accuracy'] }],
  }),
})
export type Form = z.output<typeof formSchema>

/** Members in `GET /forms`, in this order. */
export const servedFormSummary = [
  'id',
  'title',
  'scene',
  'language',
  'publicToken',
  'shareUrl',
  'localization',
  'isActive',
  'createdAt',
  'updatedAt',
] satisfies Served

/** Members in `GET /forms/{id}`, in this order. */
export const servedForm = [
  ...servedFormSummary,
  'description',
  'layout',
  'systemText',
  'fields',
  'report',
] satisfies Served

import { formSchema, servedForm, servedFormSummary } from '../core/model/form.ts'
import { servedSubmission, servedSubmissionSummary, submissionSchema } from '../core/model/submission.ts'
import { changesRoute } from './changes.ts'
import type { Endpoint } from './endpoint.ts'
import { changedRowSchema, changesPageSchema, jsonSchemaOf } from './openapi/jsonSchema.ts'

/** `items`: `forms` or `submissions`. */
const descriptionOf = (items: string): string =>
  `All ${items} of the key's team that are new, changed or deleted since a cursor. Repeat the request with the \`cursor\` of the last answer until ` +
  '`hasMore` is false; then poll. No change is missed. A row may come again: store rows by `id`, and remove those that are `deleted`. Without a cursor, ' +
  'each row comes once, without deletions. After 410, read again without a cursor until `hasMore` is false; then remove every stored row that these ' +
  'answers did not have.'

export const feedSchemas = {
  FormChange: changedRowSchema(jsonSchemaOf(formSchema), servedFormSummary, servedForm),
  SubmissionChange: changedRowSchema(jsonSchemaOf(submissionSchema), servedSubmissionSummary, servedSubmission),
  FormChanges: changesPageSchema('FormChange'),
  SubmissionChanges: changesPageSchema('SubmissionChange'),
} as const

export const feedEndpoints: readonly Endpoint<keyof typeof feedSchemas>[] = [
  {
    path: '/form-changes',
    ...changesRoute('forms'),
    operationId: 'listFormChanges',
    summary: 'Follow changes of forms',
    description: descriptionOf('forms'),
    answer: 'FormChanges',
    isFeed: true,
  },
  {
    path: '/record-changes',
    ...changesRoute('submissions'),
    operationId: 'listRecordChanges',
    summary: 'Follow changes of submissions',
    description: descriptionOf('submissions'),
    answer: 'SubmissionChanges',
    isFeed: true,
  },
]

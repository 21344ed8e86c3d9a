import type { z } from 'zod'
import { getFormParameters } from '../getForm.ts'
import { getRecordParameters } from '../getRecord.ts'
import { listFormsParameters } from '../listForms.ts'
import { listRecordsParameters } from '../listRecords.ts'
import { exampleIds, type examples } from './examples.ts'

export type Operation = {
  /** Below the server's address. */
  readonly path: string
  readonly operationId: string
  readonly tag: 'Forms' | 'Records'
  readonly summary: string
  readonly description: string
  readonly parameters: z.ZodObject
  readonly answer: keyof typeof examples
  /** What a line holds when all is asked for at once; undefined where there is one thing alone. */
  readonly line?: string
  readonly id?: { readonly description: string; readonly example: string }
}

/** The four endpoints. */
export const operations: readonly Operation[] = [
  {
    path: '/forms',
    operationId: 'listForms',
    tag: 'Forms',
    summary: 'List forms',
    description: "All forms of the key's team, newest first by `createdAt`, then by `id` descending.",
    parameters: listFormsParameters,
    answer: 'FormList',
    line: 'form',
  },
  {
    path: '/forms/{id}',
    operationId: 'getForm',
    tag: 'Forms',
    summary: 'Get one form',
    description: 'A form with its fields and its report configuration.',
    parameters: getFormParameters,
    answer: 'Form',
    id: { description: 'The form identifier.', example: exampleIds.form },
  },
  {
    path: '/records',
    operationId: 'listRecords',
    tag: 'Records',
    summary: 'List submissions',
    description:
      'Submissions of the whole team, newest first by `submittedAt`, then by `id` descending. `since` and `until` act on that ' +
      'time and so miss updates; `changedSince=<the last Replica-Watermark>` gives every new and changed submission at least once.',
    parameters: listRecordsParameters,
    answer: 'SubmissionList',
    line: 'submission',
  },
  {
    path: '/records/{id}',
    operationId: 'getRecord',
    tag: 'Records',
    summary: 'Get one submission',
    description: 'A submission with its full report.',
    parameters: getRecordParameters,
    answer: 'Submission',
    id: { description: 'The submission identifier.', example: exampleIds.submission },
  },
]

import type { z } from 'zod'
import { getFormParameters, listFormsParameters } from '../forms.ts'
import { maxCounts } from '../search/counts.ts'
import { countSubmissionsParameters } from '../submissionCounts.ts'
import { getSubmissionParameters, listSubmissionsParameters } from '../submissions.ts'
import { exampleIds, type examples } from './examples.ts'

export type Operation = {
  /** Relative to the server's URL. */
  readonly path: string
  readonly operationId: string
  readonly tag: 'Forms' | 'Records'
  readonly summary: string
  readonly description: string
  readonly parameters: z.ZodObject
  readonly answer: keyof typeof examples
  /** What a line of an export holds; undefined if the operation returns a single entity. */
  readonly line?: string
  readonly id?: { readonly description: string; readonly example: string }
}

/** The five endpoints. */
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
    parameters: listSubmissionsParameters,
    answer: 'SubmissionList',
    line: 'submission',
  },
  {
    path: '/records/{id}',
    operationId: 'getRecord',
    tag: 'Records',
    summary: 'Get one submission',
    description: 'A submission with its full report.',
    parameters: getSubmissionParameters,
    answer: 'Submission',
    id: { description: 'The submission identifier.', example: exampleIds.submission },
  },
  {
    path: '/record-counts',
    operationId: 'countRecords',
    tag: 'Records',
    summary: 'Count submissions',
    description:
      'How many of the submissions that the same filters list were submitted in each hour, day or month, belong to each form, or have ' +
      'each status. The counts add up to `totalDocs`; both are exact. More than ' +
      `${maxCounts} items are 400.`,
    parameters: countSubmissionsParameters,
    answer: 'SubmissionCounts',
  },
]

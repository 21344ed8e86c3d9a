import type { z } from 'zod'
import type { Route } from './context.ts'

/** `forms.ts`, `submissions.ts`, `submissionCounts.ts` and `changeFeeds.ts` list the endpoints. */
export interface Endpoint<AnswerName extends string> {
  /** Below the URL of the API. */
  readonly path: string
  readonly parameters: z.ZodObject
  readonly respond: Route
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly answer: AnswerName
  /** What a line of an export contains, such as `form`; undefined without exports. */
  readonly exportedRow?: string
  /** A change feed has cursors and no ETag. */
  readonly isFeed?: true
}

import type { z } from 'zod'
import type { Route } from './context.ts'

/** Route and OpenAPI description of an endpoint. `forms.ts`, `submissions.ts`, `submissionCounts.ts` and `changeFeeds.ts` list the endpoints. */
export interface Endpoint<AnswerName extends string> {
  /** Below `/api/v1`, such as `/forms/:id`. */
  readonly path: string
  readonly parameters: z.ZodObject
  readonly respond: Route
  readonly operationId: string
  readonly summary: string
  readonly description: string
  /** The name of the answer's schema. */
  readonly answer: AnswerName
  /** What a line of an export contains, such as `form`. Left out if the endpoint has no exports. */
  readonly exportedRow?: string
  /** A change feed has cursors and no ETag. */
  readonly isFeed?: true
}

import type { z } from 'zod'
import type { Route } from './context.ts'

/**
 * An endpoint: its parameters and handler, and the rest of its OpenAPI description. Each resource lists its endpoints beside the schemas of their
 * answers: `forms.ts`, `submissions.ts`, `submissionCounts.ts`, `changeFeeds.ts`. `AnswerName`: the names of these schemas.
 */
export interface Endpoint<AnswerName extends string> {
  /** Below the URL of the API. */
  readonly path: string
  readonly parameters: z.ZodObject
  readonly respond: Route
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly answer: AnswerName
  /** What a line of an export is; undefined if the endpoint has no exports. */
  readonly line?: string
  /** Whether it is a change feed, which has cursors and no ETag. */
  readonly isFeed?: true
}

import type { z } from 'zod'
import type { Route } from './context.ts'

export interface Endpoint<AnswerName extends string> {
  /** Below `/api/v1`, such as `/forms/:id`. */
  readonly path: string
  readonly parameters: z.ZodObject
  readonly respond: Route
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly answer: AnswerName
  /** What a line of an export contains, such as `form`; left out without exports. */
  readonly exportedRow?: string
  /** A change feed has cursors and no ETag. */
  readonly isFeed?: true
}

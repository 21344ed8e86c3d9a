import { Router } from '@koa/router'
import type { z } from 'zod'
import { maxUrlBytes } from '../core/process/clientErrors.ts'
import { routeOf } from '../core/process/requestLog.ts'
import { changesRoute } from './changes.ts'
import type { ApiMiddleware, Route, RouteDeps, RouteState } from './context.ts'
import { type ApiError, allowedMethods, apiError } from './errors.ts'
import { getForm, listForms } from './forms.ts'
import type { AnswerName } from './openapi/schemas.ts'
import { maxCounts } from './search/counts.ts'
import { countRecords, countSubmissionsParameters, getSubmission, listSubmissions } from './submissions.ts'

/** An endpoint: its handler, and its OpenAPI description. */
export type Endpoint = {
  /** Below the URL of the API. */
  readonly path: string
  readonly respond: Route
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly parameters: z.ZodObject
  readonly answer: AnswerName
  /** What a line of an export is, for the description; undefined if the endpoint has no exports. */
  readonly line?: string
  /** Whether it is a change feed, which has cursors and no ETag. */
  readonly isFeed?: true
}

const followed = (items: string): string =>
  `All ${items} of the key's team that are new, changed or deleted since a cursor. Ask with the \`cursor\` of the last answer until \`hasMore\` is ` +
  'false, and again when there may be news. Nothing is missed, whatever the times of the changes; a row may come again, so store by `id`, and remove ' +
  'what is `deleted`. From the beginning, each row comes once and no deletions. 410: start without a cursor, and drop what that walk does not name.'

export const endpoints: readonly Endpoint[] = [
  {
    path: '/forms',
    ...listForms,
    operationId: 'listForms',
    summary: 'List forms',
    description: "All forms of the key's team, newest first by `createdAt`, then by `id` descending.",
    answer: 'FormList',
    line: 'form',
  },
  {
    path: '/forms/:id',
    ...getForm,
    operationId: 'getForm',
    summary: 'Get one form',
    description: 'A form with its fields and its report configuration.',
    answer: 'Form',
  },
  {
    path: '/records',
    ...listSubmissions,
    operationId: 'listRecords',
    summary: 'List submissions',
    description:
      'Submissions of the whole team, newest first by `submittedAt`, then by `id` descending. `since` and `until` act on that ' +
      'time and so miss updates; `changedSince` and `changedUntil` act on the time of the newest change. A program that must miss nothing follows ' +
      '`/record-changes`.',
    answer: 'SubmissionList',
    line: 'submission',
  },
  {
    path: '/records/:id',
    ...getSubmission,
    operationId: 'getRecord',
    summary: 'Get one submission',
    description: 'A submission with its full report.',
    answer: 'Submission',
  },
  {
    path: '/record-counts',
    respond: countRecords,
    operationId: 'countRecords',
    summary: 'Count submissions',
    description:
      'How many of the submissions that the same filters list were submitted in each hour, day or month, or have each form, status, level, ' +
      'outcome, source, campaign or answer. The counts are exact and add up to `totalDocs`, but for answers that are lists, which count once ' +
      `for each element. More than ${maxCounts} items are 400.`,
    parameters: countSubmissionsParameters,
    answer: 'SubmissionCounts',
  },
  {
    path: '/form-changes',
    ...changesRoute('forms'),
    operationId: 'listFormChanges',
    summary: 'Follow changes of forms',
    description: followed('forms'),
    answer: 'FormChanges',
    isFeed: true,
  },
  {
    path: '/record-changes',
    ...changesRoute('submissions'),
    operationId: 'listRecordChanges',
    summary: 'Follow changes of submissions',
    description: followed('submissions'),
    answer: 'SubmissionChanges',
    isFeed: true,
  },
]

/** Routes requests to the endpoints. Paths are case-sensitive; a trailing slash makes no difference. */
export function routes(deps: RouteDeps): Router<RouteState, object> {
  const router = new Router<RouteState, object>({ prefix: '/api/v1', sensitive: true })
  for (const { path, respond } of endpoints) router.get(path, (ctx) => respond(ctx, deps))
  return router
}

const methodNotAllowed = (): ApiError =>
  apiError('method_not_allowed', undefined, { headers: { Allow: allowedMethods } })

/** Answers OPTIONS on any path, without a key. */
export const options: ApiMiddleware = async (ctx, next) => {
  if (ctx.method !== 'OPTIONS') return next()
  ctx.set('Allow', allowedMethods)
  ctx.status = 204
}

/** Answers 405 if a public route was matched by path but not by method. */
export const otherMethods: ApiMiddleware = (ctx, next) => {
  if (routeOf(ctx) !== undefined) throw methodNotAllowed()
  return next()
}

/** Answers requests that no route handled: 405 if the path is known, 404 if not. */
export const unrouted: ApiMiddleware = (ctx) => {
  throw routeOf(ctx) === undefined ? apiError('not_found', 'no such route') : methodNotAllowed()
}

/** Normalises the request target and `Accept`. */
export const normalizeRequest: ApiMiddleware = (ctx, next) => {
  const { headers, url = '' } = ctx.req
  if (url.length > maxUrlBytes) throw apiError('uri_too_long')
  ctx.req.url = originForm(url)
  // Parameters of a media type, such as a charset, do not select another answer.
  if (headers.accept !== undefined) headers.accept = headers.accept.replaceAll(mediaTypeParameters, '')
  return next()
}

/** The origin form (path and query) of a request target, which may be in absolute form; `/` if it has no path, such as `*`. */
function originForm(target: string): string {
  const [withoutFragment = ''] = target.replace(/^https?:\/\/[^/?#]*/i, '').split('#', 1)
  if (withoutFragment.startsWith('/')) return withoutFragment
  return withoutFragment.startsWith('?') ? `/${withoutFragment}` : '/'
}

/** Matches parameters of a media type other than its weight `q`. */
const mediaTypeParameters = /;\s*(?!q=)[^\s;,=]+\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s;,]*)/gi

import { Router } from '@koa/router'
import type { RouteDeps, RouteState } from './context.ts'
import { getForm, listForms } from './forms.ts'
import { countSubmissions } from './submissionCounts.ts'
import { getSubmission, listSubmissions } from './submissions.ts'

/** The five endpoints. A trailing slash names the same route; paths are case-sensitive. */
export const routes = (deps: RouteDeps): Router<RouteState, object> =>
  new Router<RouteState, object>({ prefix: '/api/v1', sensitive: true })
    .get('/forms', (ctx) => listForms(ctx, deps))
    .get('/forms/:id', (ctx) => getForm(ctx, deps))
    .get('/records', (ctx) => listSubmissions(ctx, deps))
    .get('/records/:id', (ctx) => getSubmission(ctx, deps))
    .get('/record-counts', (ctx) => countSubmissions(ctx, deps))

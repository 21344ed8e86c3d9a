import { Router } from '@koa/router'
import type { RouteState } from './context.ts'
import { getFormRoute } from './getForm.ts'
import { getRecordRoute } from './getRecord.ts'
import { listFormsRoute } from './listForms.ts'
import { listRecordsRoute } from './listRecords.ts'
import type { RouteDeps } from './routeDeps.ts'

/** The four endpoints. A trailing slash names the same route; letter case matters. */
export const routes = (needs: RouteDeps): Router<RouteState, object> =>
  new Router<RouteState, object>({ prefix: '/api/v1', sensitive: true })
    .get('/forms', listFormsRoute(needs))
    .get('/forms/:id', getFormRoute(needs))
    .get('/records', listRecordsRoute(needs))
    .get('/records/:id', getRecordRoute(needs))

import { Router } from '@koa/router'
import type { RouteState } from './context.ts'
import type { StartExport } from './exports.ts'
import { getFormRoute } from './getForm.ts'
import { getRecordRoute } from './getRecord.ts'
import { listFormsRoute } from './listForms.ts'
import { listRecordsRoute } from './listRecords.ts'
import type { ParameterReader } from './parameters.ts'
import type { IndexReader } from './search/indexReader.ts'

/** What every route is built from. */
export type RouteDeps = {
  readonly replica: IndexReader
  readonly readParameters: ParameterReader
  readonly startExport: StartExport
}

/** The four endpoints. A trailing slash names the same route; letter case matters. */
export const routes = (needs: RouteDeps): Router<RouteState, object> =>
  new Router<RouteState, object>({ prefix: '/api/v1', sensitive: true })
    .get('/forms', listFormsRoute(needs))
    .get('/forms/:id', getFormRoute(needs))
    .get('/records', listRecordsRoute(needs))
    .get('/records/:id', getRecordRoute(needs))

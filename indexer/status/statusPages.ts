import { hostname } from 'node:os'
import type { AdminAnswer, AdminPage, AdminPages } from '../../src/core/process/adminServer.ts'
import type { Health } from '../../src/core/process/health.ts'
import { contentSecurityPolicy } from '../../src/core/process/html.ts'
import { readAssets, type StaticFile } from '../../src/core/process/staticFile.ts'
import type { Observed, OwnState } from './observe.ts'
import { type StatusView, statusPage } from './page.ts'

const types: Readonly<Record<string, string>> = { css: 'text/css', js: 'text/javascript', svg: 'image/svg+xml' }

/** The status page at `/status`, a redirect from `/`, and the files that the page loads. */
export function statusPages(from: {
  own(): OwnState
  records(): Promise<StatusView['records']>
  observed(): Observed
  readonly health: Pick<Health, 'results'>
  readonly clock: () => number
}): AdminPages {
  const { own, records, observed, health, clock } = from
  const { paths, files } = readAssets(new URL('assets/', import.meta.url), 'status')
  const page: AdminPage = async (query) => {
    const view: StatusView = {
      checks: await health.results(),
      records: await records(),
      own: own(),
      name: `${hostname()}, process ${process.pid}`,
      residentBytes: process.memoryUsage.rss(),
      observed: observed(),
      isRefreshing: query.get('refresh') !== 'off',
      nowMs: clock(),
    }
    return htmlAnswer(String(statusPage(view, paths)))
  }
  const redirect: AdminPage = async () => ({ status: 302, headers: { Location: '/status' }, body: '' })
  return new Map([
    ['/status', page],
    ['/', redirect],
    ...files.entries().map(([path, file]) => [path, assetPage(file)] as const),
  ])
}

const htmlAnswer = (body: string): AdminAnswer => ({
  status: 200,
  headers: {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': contentSecurityPolicy({ 'connect-src': "'self'" }),
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Opener-Policy': 'same-origin',
  },
  body,
})

const assetPage =
  ({ type, bytes, cacheControl }: StaticFile): AdminPage =>
  async () => ({
    status: 200,
    headers: { 'Content-Type': `${types[type]}; charset=utf-8`, 'Cache-Control': cacheControl },
    body: String(bytes),
  })

import { hostname } from 'node:os'
import type { TopicPartition } from '../../src/core/kafka/sourceRecord.ts'
import type { AdminAnswer, AdminPage, AdminPages } from '../../src/core/process/adminServer.ts'
import type { Health } from '../../src/core/process/health.ts'
import { contentSecurityPolicy } from '../../src/core/process/html.ts'
import { readAssets, type StaticFile } from '../../src/core/process/staticFile.ts'
import type { Observer } from './observe.ts'
import { statusPage } from './page.ts'
import type { OwnView, StatusView } from './view.ts'

/** The state of this indexer; read whenever the page is requested. */
type Own = {
  readonly startedAtMs: number
  readonly maxInFlightBytes: number
  inFlightBytes(): number
  partitions(): readonly TopicPartition[]
  generation(): number | undefined
  records(): Promise<readonly { readonly value: number; readonly labels: { readonly outcome?: string | number } }[]>
  nowMs(): number
}

const types: Readonly<Record<string, string>> = { css: 'text/css', js: 'text/javascript', svg: 'image/svg+xml' }

/** The status page at `/status`, a redirect from `/`, and the files that the page loads. */
export function statusPages(from: {
  readonly own: Own
  readonly observer: Observer
  readonly health: Pick<Health, 'results'>
}): AdminPages {
  const { paths, files } = readAssets(new URL('assets/', import.meta.url), 'status')
  const page: AdminPage = async (query) => {
    const view = await viewOf(from, query.get('refresh') !== 'off')
    return htmlAnswer(String(statusPage(view, paths)))
  }
  const redirect: AdminPage = async () => ({ status: 302, headers: { Location: '/status' }, body: '' })
  return new Map([
    ['/status', page],
    ['/', redirect],
    ...files.entries().map(([path, file]) => [path, assetPage(file)] as const),
  ])
}

async function viewOf(
  { own, observer, health }: Parameters<typeof statusPages>[0],
  isRefreshing: boolean,
): Promise<StatusView> {
  const [checks, records] = await Promise.all([health.results(), own.records()])
  const sum = (outcome: string): number =>
    records.reduce((total, { labels, value }) => total + (labels.outcome === outcome ? value : 0), 0)
  const ownView: OwnView = {
    startedAtMs: own.startedAtMs,
    maxInFlightBytes: own.maxInFlightBytes,
    inFlightBytes: own.inFlightBytes(),
    residentBytes: process.memoryUsage.rss(),
    partitions: own.partitions(),
    generation: own.generation(),
    records: { indexed: sum('indexed'), stale: sum('stale'), 'dead-letter': sum('dead-letter') },
    name: `${hostname()}, process ${process.pid}`,
  }
  const { observed, samples } = observer
  return { nowMs: own.nowMs(), own: ownView, checks, observed: observed(), samples: samples(), isRefreshing }
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

import { hostname } from 'node:os'
import type { AdminPages } from '../../src/core/http/adminServer.ts'
import type { PlainAnswer } from '../../src/core/http/clientErrors.ts'
import { partitionName } from '../../src/core/kafka/sourceRecord.ts'
import type { Health } from '../../src/core/monitoring/health.ts'
import { contentSecurityPolicy, type Html, html, htmlDocument } from '../../src/core/pages/html.ts'
import { readIcon, readStyle } from '../../src/core/pages/staticFile.ts'
import { lagsOf, type Observed, type OwnState, type PartitionLag } from './observe.ts'

const refreshSeconds = 5
const assets = { style: '/status.css', icon: '/icon.svg' }
const pageHeaders = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': contentSecurityPolicy({}),
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
}

type Sources = {
  own(): OwnState
  observed(): Observed
  readonly health: Pick<Health, 'results' | 'isReady'>
  readonly clock: () => number
}

/** The status page, a redirect to it from `/`, and its files. All URLs are relative, so that a proxy can serve them below any path. */
export function statusPages(sources: Sources): AdminPages {
  const page = async (query: URLSearchParams): Promise<PlainAnswer> => {
    const body = String(await statusPage(sources, query.get('refresh') !== 'off'))
    return { status: 200, headers: pageHeaders, body }
  }
  const style = new URL('assets/status.css', import.meta.url)
  const asset = (type: string, read: () => string) => async (): Promise<PlainAnswer> => ({
    status: 200,
    headers: { 'Content-Type': `${type}; charset=utf-8` },
    body: read(),
  })
  return new Map([
    ['/status', page],
    ['/', async () => ({ status: 302, headers: { Location: './status' }, body: '' })],
    [assets.style, asset('text/css', () => readStyle(style))],
    [assets.icon, asset('image/svg+xml', readIcon)],
  ])
}

async function statusPage(sources: Sources, isRefreshing: boolean): Promise<Html> {
  const checks = await sources.health.results()
  const own = sources.own()
  const observed = sources.observed()
  const nowMs = sources.clock()
  const { watermarkMs } = observed
  const ageSeconds = watermarkMs === undefined ? undefined : Math.max(0, nowMs - watermarkMs) / 1_000
  const isReady = sources.health.isReady(checks)
  const problems = checks.filter((check) => !check.ok)
  const are = problems.length === 1 ? 'is' : 'are'
  return htmlDocument({
    language: 'en',
    title: `${isReady ? '' : 'Not ready · '}${ageSeconds === undefined ? 'no watermark' : duration(ageSeconds)} – Tidemark status`,
    assets: { style: `.${assets.style}`, icon: `.${assets.icon}` },
    head: isRefreshing ? html`<meta http-equiv="refresh" content="${refreshSeconds}">` : '',
    brand: { name: 'Tidemark status', href: './status' },
    barEnd: isRefreshing
      ? html`<span class="text-light">Refreshes every ${refreshSeconds} s</span> <a href="./status?refresh=off">Pause</a>`
      : html`<span class="text-light">Paused</span> <a href="./status">Resume</a>`,
    main: html`<h1 class="hstack">${isReady ? 'Ready' : 'Not ready'} ${isReady ? badge('success', 'every check is ok') : badge('danger', `${problems.length} of ${checks.length} checks ${are} not ok`)}</h1>
<p class="lead text-light">${
      watermarkMs === undefined
        ? 'There is no watermark: how complete answers are is unknown.'
        : html`Everything appended to Kafka before ${timeOfDay(watermarkMs)} is searchable.`
    } Seen by ${hostname()}, process ${process.pid} at ${timeOfDay(nowMs)} UTC.</p>
${isReady ? '' : html`<ul class="problems card unstyled" role="list">${problems.map((check) => html`<li><strong>${check.name}</strong> ${check.problem}</li>`)}</ul>`}
${tiles(ageSeconds, observed)}
${partitionTables(own, observed)}
${indexTable(own, observed)}`,
  })
}

type Level = 'success' | 'warning' | 'danger'

const badge = (level: Level, text: string): Html => html`<span class="badge" data-variant="${level}">${text}</span>`

function tiles(ageSeconds: number | undefined, { group }: Observed): Html {
  const { partitions, deadLetters } = group?.value ?? {}
  const behind = partitions?.reduce((sum, { behindRecords }) => sum + behindRecords, 0)
  const tile = (title: string, level: Level, figure: string, about: string): Html => html`<article class="tile card">
<h2 class="text-light">${title}</h2>
<p class="figure" data-level="${level}">${figure}</p>
<small class="text-light">${about}</small>
</article>`
  return html`<section class="tiles" aria-label="Figures">
${tile('Watermark age', watermarkLevel(ageSeconds), orUnknown(ageSeconds, duration), 'Everything appended to Kafka before it is searchable.')}
${tile('Records behind', 'success', orUnknown(behind, count), 'Appended to Kafka and not visible yet, all partitions.')}
${tile('Dead letters', deadLetters ? 'warning' : 'success', orUnknown(deadLetters, count), 'Dead-lettered records that Kafka still keeps.')}
</section>`
}

const lateSeconds = 30
const veryLateSeconds = 300

function watermarkLevel(ageSeconds: number | undefined): Level {
  if (ageSeconds === undefined || ageSeconds > veryLateSeconds) return 'danger'
  return ageSeconds > lateSeconds ? 'warning' : 'success'
}

function partitionTables(own: OwnState, { group, visibleMs }: Observed): Html {
  if (group === undefined) return html`<section><h2>Partitions</h2><p class="card">Not known yet.</p></section>`
  const { indexers } = group.value
  const owned = new Set(own.partitions.map(partitionName))
  const row = (lag: PartitionLag): Html => {
    const { partition, behindRecords, behindSeconds, isOwned } = lag
    const owner = owned.has(partitionName(lag)) ? 'this' : html`<span class="text-light">other</span>`
    return html`<tr><th scope="row">${partition}</th><td class="number">${count(behindRecords)}</td><td class="number">${orUnknown(behindSeconds, duration)}</td><td>${isOwned || owner === 'this' ? owner : badge('danger', 'none')}</td></tr>`
  }
  const table = (topic: string, lags: readonly PartitionLag[]): Html => html`<div class="card">
<table>
<caption>${topic}</caption>
<thead><tr><th scope="col">Partition</th><th scope="col" class="number">Records behind</th><th scope="col" class="number">Time behind</th><th scope="col">Indexer</th></tr></thead>
<tbody>${lags.toSorted((a, b) => a.partition - b.partition).map(row)}</tbody>
</table>
</div>`
  const byTopic = Map.groupBy(lagsOf(group, visibleMs), ({ topic }) => topic)
  return html`<section>
<div class="hstack justify-between mb-2"><h2>Partitions</h2><p class="text-light">${indexers === 1 ? 'One indexer reads' : `${count(indexers)} indexers read`} · as of ${timeOfDay(group.atMs)}</p></div>
<div class="topics">${[...byTopic].map(([topic, lags]) => table(topic, lags))}</div>
</section>`
}

function indexTable(own: OwnState, { indices, group }: Observed): Html {
  if (indices === undefined) return html`<section><h2>Indices</h2><p class="card">Not known yet.</p></section>`
  const others = new Set(
    indices.value.map(({ generation }) => generation).filter((number) => number !== own.generation),
  )
  const written = own.generation === undefined ? 'No generation is written' : `Generation ${own.generation} is written`
  const rebuild = group?.value.rebuild
  return html`<section>
<div class="hstack justify-between mb-2"><h2>Indices</h2><p class="text-light">as of ${timeOfDay(indices.atMs)}</p></div>
${
  rebuild === undefined
    ? ''
    : html`<div class="rebuild card mb-4">
<p><strong>${rebuild.isRunning ? 'A rebuild is running' : 'A rebuild was left half way'}</strong> <span class="text-light">${Math.floor(100 * rebuild.progress)} % of the records are in the next generation.${rebuild.isRunning ? '' : ' Run it again to go on.'}</span></p>
</div>`
}
<div class="card">
<table class="indices">
<caption>${written}${others.size === 0 ? '' : `; there is also ${[...others].join(', ')}`}</caption>
<thead><tr><th scope="col">Index</th><th scope="col" class="number">Documents</th><th scope="col" class="number">Size</th></tr></thead>
<tbody>${indices.value.map(
    ({ name, documents, bytes, generation }) =>
      html`<tr><th scope="row">${name} ${generation === own.generation ? badge('success', 'written') : ''}</th><td class="number">${count(documents)}</td><td class="number">${size(bytes)}</td></tr>`,
  )}</tbody>
</table>
</div>
</section>`
}

/** `14:03:22` in UTC. */
const timeOfDay = (epochMs: number): Html => {
  const instant = new Date(epochMs).toISOString()
  return html`<time datetime="${instant}">${instant.slice(11, 19)}</time>`
}

const minute = 60
const hour = 3_600
const day = 86_400
const mebi = 1024 ** 2

const orUnknown = (value: number | undefined, format: (value: number) => string): string =>
  value === undefined ? 'not known' : format(value)

/** A duration, rounded down, such as `1.4 s`, `95 s`, `14 min`, `30 h` or `3 days`. */
function duration(seconds: number): string {
  if (seconds === 0) return '0 s'
  if (seconds < 10) return `${(Math.floor(seconds * 10) / 10).toFixed(1)} s`
  if (seconds < 2 * minute) return `${Math.floor(seconds)} s`
  if (seconds < 2 * hour) return `${Math.floor(seconds / minute)} min`
  return seconds < 2 * day ? `${Math.floor(seconds / hour)} h` : `${Math.floor(seconds / day)} days`
}

const size = (bytes: number): string => `${(bytes / mebi).toLocaleString('en', { maximumFractionDigits: 1 })} MiB`

const count = (value: number): string => Math.round(value).toLocaleString('en')

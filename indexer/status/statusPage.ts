import { hostname } from 'node:os'
import type { AdminPages } from '../../src/core/http/adminServer.ts'
import type { PlainAnswer } from '../../src/core/http/clientErrors.ts'
import type { Health } from '../../src/core/monitoring/health.ts'
import { contentSecurityPolicy, type Html, html, htmlDocument } from '../../src/core/pages/html.ts'
import { readIcon, readStyle, readText } from '../../src/core/pages/staticFile.ts'
import { followersSection } from './followersSection.ts'
import { count, duration, orUnknown, timeOfDay } from './format.ts'
import { type Cause, type Level, lateSeconds, likelyCauses } from './likelyCauses.ts'
import type { Observed, Observer } from './observe.ts'
import type { OwnState } from './ownState.ts'
import { rebuildSection } from './rebuildSection.ts'
import { rebuildStateOf } from './rebuildState.ts'
import { recordsBehind } from './surveyGroup.ts'
import { badge, indexersTable, indexTable, partitionTables } from './tables.ts'

const refreshSeconds = 5
const assets = { style: '/status.css', script: '/status.js', icon: '/icon.svg' }
const pageHeaders = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': contentSecurityPolicy({ 'connect-src': "'self'" }),
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
}

type Sources = Observer & {
  own(): OwnState
  readonly health: Pick<Health, 'results' | 'isReady'>
  readonly clock: () => number
}

/** All URLs are relative, so that a proxy can serve the page below any path. */
export function statusPages(sources: Sources): AdminPages {
  const page = async (query: URLSearchParams): Promise<PlainAnswer> => {
    const body = String(await statusPage(sources, query.get('refresh') !== 'off'))
    return { status: 200, headers: pageHeaders, body }
  }
  const assetUrl = (name: string): URL => new URL(`assets/${name}`, import.meta.url)
  const asset = (type: string, read: () => string) => async (): Promise<PlainAnswer> => ({
    status: 200,
    headers: { 'Content-Type': `${type}; charset=utf-8` },
    body: read(),
  })
  return new Map([
    ['/status', page],
    ['/', async () => ({ status: 302, headers: { Location: './status' }, body: '' })],
    [assets.style, asset('text/css', () => readStyle(assetUrl('status.css')))],
    [assets.script, asset('text/javascript', () => readText(assetUrl('status.js')))],
    [assets.icon, asset('image/svg+xml', readIcon)],
  ])
}

async function statusPage(sources: Sources, isRefreshing: boolean): Promise<Html> {
  const [checks, followers] = await Promise.all([sources.health.results(), sources.followers()])
  const own = sources.own()
  const observed = sources.observed()
  const nowMs = sources.clock()
  const { watermarkMs } = observed
  const ageSeconds = watermarkMs === undefined ? undefined : Math.max(0, nowMs - watermarkMs) / 1_000
  const rebuild = rebuildStateOf(observed.group, observed.rebuild, own.generation, nowMs)
  const isReady = sources.health.isReady(checks)
  const problems = checks.filter((check) => !check.ok)
  const are = problems.length === 1 ? 'is' : 'are'
  return htmlDocument({
    language: 'en',
    title: titleOf(isReady, ageSeconds),
    assets: { style: `.${assets.style}`, icon: `.${assets.icon}` },
    head: isRefreshing
      ? html`<noscript><meta http-equiv="refresh" content="${refreshSeconds}"></noscript>
<script src=".${assets.script}" type="module"></script>`
      : '',
    brand: { name: 'Tidemark status', href: './status' },
    barEnd: isRefreshing
      ? html`<span class="text-light" id="refresh" role="status" data-seconds="${refreshSeconds}">Refreshes every ${refreshSeconds} s</span> <a href="./status?refresh=off">Pause</a>`
      : html`<span class="text-light">Paused</span> <a href="./status">Resume</a>`,
    main: html`<h1 class="hstack" aria-live="polite">${isReady ? 'Ready' : 'Not ready'} ${isReady ? badge('success', 'every check is ok') : badge('danger', `${problems.length} of ${checks.length} checks ${are} not ok`)}</h1>
${causeList(likelyCauses({ checks, own, observed, rebuild, nowMs }))}
<p class="seen text-light">Seen by ${hostname()}, process ${process.pid}, at ${timeOfDay(nowMs, nowMs)} UTC.</p>
${isReady ? '' : html`<ul class="problems card unstyled" role="list" aria-label="Checks that are not ok">${problems.map((check) => html`<li><strong>${check.name}</strong> ${check.problem}</li>`)}</ul>`}
${tiles(ageSeconds, observed)}
${rebuildSection(rebuild, nowMs)}
${indexersTable(own, observed, nowMs)}
${followersSection(followers, nowMs)}
${partitionTables(own, observed, nowMs)}
${indexTable(own, observed, nowMs)}`,
  })
}

/** Without figures: screen readers may announce every change of a title. */
function titleOf(isReady: boolean, ageSeconds: number | undefined): string {
  const watermark = ageSeconds === undefined ? ' · no watermark' : ' · watermark late'
  const state = `${isReady ? 'Ready' : 'Not ready'}${watermarkLevel(ageSeconds) === 'success' ? '' : watermark}`
  return `${state} – Tidemark status`
}

const causeList = (causes: readonly Cause[]): Html =>
  html`<ul class="causes unstyled" role="list" aria-label="Likely causes">${causes.map(({ level, text }) => html`<li data-level="${level}">${text}</li>`)}</ul>`

function tiles(ageSeconds: number | undefined, { group }: Observed): Html {
  const { partitions, deadLetters } = group?.value ?? {}
  const behind = partitions && recordsBehind(partitions)
  const tile = (title: string, level: Level, figure: string, about: string): Html => html`<article class="tile card">
<h2 class="text-light">${title}</h2>
<p class="figure" data-level="${level}">${figure}</p>
<small class="text-light">${about}</small>
</article>`
  return html`<section class="tiles" aria-label="Figures">
${tile('Watermark age', watermarkLevel(ageSeconds), orUnknown(ageSeconds, duration), 'Every record that was appended to Kafka longer ago than this is searchable.')}
${tile('Records behind', 'success', orUnknown(behind, count), 'Appended to Kafka and not visible yet, all partitions.')}
${tile('Dead letters', deadLetters ? 'warning' : 'success', orUnknown(deadLetters, count), 'Dead-lettered records that Kafka still keeps.')}
</section>`
}

const veryLateSeconds = 300

function watermarkLevel(ageSeconds: number | undefined): Level {
  if (ageSeconds === undefined || ageSeconds > veryLateSeconds) return 'danger'
  return ageSeconds > lateSeconds ? 'warning' : 'success'
}

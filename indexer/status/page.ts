import { type CheckResult, isHealthy } from '../../src/core/process/health.ts'
import { type Html, html, htmlDocument } from '../../src/core/process/html.ts'
import type { AssetPaths } from '../../src/core/process/staticFile.ts'
import { meter } from './chart.ts'
import { count, duration, size, timeOfDay } from './format.ts'
import { indexTable, partitionTable } from './tables.ts'
import { tiles } from './tiles.ts'
import type { StatusView } from './view.ts'

const refreshSeconds = 5

/** The whole document. The script replaces its content; without JavaScript the browser reloads it. */
export function statusPage(view: StatusView, assets: AssetPaths): Html {
  const { nowMs, checks: results, own, observed, isRefreshing } = view
  const { watermarkMs } = observed
  const age = watermarkMs === undefined ? 'no watermark' : duration(Math.max(0, nowMs - watermarkMs) / 1_000)
  const isReady = isHealthy(results)
  const problems = results.filter(({ problem }) => problem !== undefined)
  return htmlDocument({
    language: 'en',
    title: `${isReady ? '' : 'Not ready · '}${age} – Tidemark status`,
    assets,
    head: isRefreshing
      ? html`<noscript><meta http-equiv="refresh" content="${refreshSeconds}"></noscript>
<script src="${assets.script}" data-seconds="${refreshSeconds}" defer></script>`
      : '',
    brand: { name: 'Tidemark status', href: '/status' },
    barEnd: isRefreshing
      ? html`<span class="muted">Refreshes every ${refreshSeconds} s</span> <a href="/status?refresh=off">Pause</a>`
      : html`<span class="muted">Paused</span> <a href="/status">Resume</a>`,
    main: html`<p class="lost notice bad" role="alert" hidden>The indexer does not answer. What you see is what it said last.</p>
<div class="head">
<h1>${isReady ? 'Ready' : 'Not ready'} <span class="badge ${isReady ? 'good' : 'bad'}">${isReady ? 'every check is ok' : `${problems.length} of ${results.length} checks ${problems.length === 1 ? 'is' : 'are'} not ok`}</span></h1>
<p class="lead">${
      watermarkMs === undefined
        ? 'There is no watermark: how complete answers are is unknown.'
        : html`Everything appended to Kafka before <time datetime="${new Date(watermarkMs).toISOString()}">${timeOfDay(watermarkMs)}</time> is searchable.`
    } Seen by ${own.name} at <time datetime="${new Date(nowMs).toISOString()}">${timeOfDay(nowMs)}</time> UTC.</p>
${isReady ? '' : html`<ul class="problems notice bad" role="list">${problems.map(({ name, problem }) => html`<li><strong>${name}</strong> ${problem}</li>`)}</ul>`}
</div>
${tiles(view)}
${partitionTable(view)}
<div class="columns">
<div class="stack">
${indexTable(view)}
${thisIndexer(view)}
</div>
${checks(view)}
</div>`,
  })
}

/** The health checks; the problems of those that fail are at the top of the page. */
const checks = ({ checks: all }: StatusView): Html => html`<section class="panel">
<h2>Checks</h2>
<ul class="checks" role="list">${all.map(check)}</ul>
</section>`

const check = ({ name, problem }: CheckResult): Html =>
  html`<li><span>${name}</span> ${problem === undefined ? html`<span class="badge good">ok</span>` : html`<span class="badge bad">not ok</span>`}</li>`

/** What this indexer has processed, and the memory it takes. */
function thisIndexer({ own, nowMs, observed }: StatusView): Html {
  const { indexed, stale } = own.records
  const memory = observed.redisMemory?.value
  const share = own.inFlightBytes / own.maxInFlightBytes
  const inFlight = `${size(own.inFlightBytes)} of ${size(own.maxInFlightBytes)}`
  return html`<section class="panel">
<h2>This indexer</h2>
<dl class="facts">
<div><dt>Process</dt><dd>${own.name}</dd></div>
<div><dt>Running for</dt><dd>${duration((nowMs - own.startedAtMs) / 1_000)}</dd></div>
<div><dt>Partitions</dt><dd>${count(own.partitions.length)}</dd></div>
<div><dt>Memory</dt><dd>${size(own.residentBytes)}</dd></div>
<div><dt>Records since it started</dt><dd>${count(indexed)} indexed, ${count(stale)} stale, ${count(own.records['dead-letter'])} dead-lettered</dd></div>
<div><dt>In flight</dt><dd>${inFlight}${meter('Bytes in flight', share, inFlight)}</dd></div>
${memory === undefined ? '' : html`<div><dt>Redis</dt><dd>${redisInWords(memory)}</dd></div>`}
</dl>
</section>`
}

const redisInWords = ({ usedBytes, limitBytes }: { usedBytes: number; limitBytes: number | undefined }): Html =>
  limitBytes === undefined
    ? html`holds ${size(usedBytes)}, without a bound`
    : html`holds ${size(usedBytes)} of ${size(limitBytes)}${meter('Memory of Redis', usedBytes / limitBytes, `${size(usedBytes)} of ${size(limitBytes)}`)}`

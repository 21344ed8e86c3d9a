import { html } from 'hono/html'
import type { CheckResult } from '../../src/core/process/health.ts'
import type { Html } from './html.ts'
import { meter } from './stores.ts'
import type { StatusView } from './view.ts'
import { count, duration, size } from './words.ts'

/** Engines, and the parts of this indexer; what is wrong with them stands at the top of the page. */
export const checks = ({ checks: all }: StatusView): Html => html`<section class="panel">
<h2>Checks</h2>
<ul class="checks" role="list">${all.map(check)}</ul>
</section>`

const check = ({ name, problem }: CheckResult): Html =>
  html`<li><span>${name}</span> ${problem === undefined ? html`<span class="badge good">ok</span>` : html`<span class="badge bad">not ok</span>`}</li>`

/** What this indexer has done, and what it takes. */
export function thisIndexer({ own, nowMs, observed }: StatusView): Html {
  const { indexed, stale } = own.records
  const memory = observed.redisMemory?.value
  const share = own.inFlightBytes / own.maxInFlightBytes
  const inFlight = `${size(own.inFlightBytes)} of ${size(own.maxInFlightBytes)}`
  return html`<section class="panel">
<h2>This indexer</h2>
<dl class="facts">
<div><dt>Process</dt><dd>${own.name}</dd></div>
<div><dt>Running for</dt><dd>${duration((nowMs - own.startedAtMs) / 1_000)}</dd></div>
<div><dt>Partitions</dt><dd>${count(own.lags.length)}</dd></div>
<div><dt>Memory</dt><dd>${size(own.residentBytes)}</dd></div>
<div><dt>Records since it started</dt><dd>${count(indexed)} indexed, ${count(stale)} stale, ${count(own.records['dead-letter'])} set aside</dd></div>
<div><dt>Under way</dt><dd>${inFlight}${meter('Bytes under way', share, inFlight)}</dd></div>
${memory === undefined ? '' : html`<div><dt>Redis</dt><dd>${redisInWords(memory)}</dd></div>`}
</dl>
</section>`
}

const redisInWords = ({ usedBytes, limitBytes }: { usedBytes: number; limitBytes: number | undefined }): Html =>
  limitBytes === undefined
    ? html`holds ${size(usedBytes)}, without a bound`
    : html`holds ${size(usedBytes)} of ${size(limitBytes)}${meter('Memory of Redis', usedBytes / limitBytes, `${size(usedBytes)} of ${size(limitBytes)}`)}`

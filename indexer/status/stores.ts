import { html } from 'hono/html'
import type { RebuildSurvey } from './groupSurvey.ts'
import type { Html } from './html.ts'
import type { IndexSurvey } from './indexSurvey.ts'
import type { StatusView } from './view.ts'
import { count, size, timeOfDay } from './words.ts'

/** The indices, by generation, and what a rebuild has made of the next one. */
export function indices({ observed, own }: StatusView): Html {
  const seen = observed.indices
  if (seen === undefined) return html`<section><h2>Indices</h2><p class="panel muted">Not known yet.</p></section>`
  return html`<section>
<div class="section-head"><h2>Indices</h2><p class="muted">as of ${timeOfDay(seen.atMs)}</p></div>
${rebuild(observed.group?.value.rebuild)}
<div class="panel">
<table class="wide">
<caption>${generationsInWords(seen.value, own.generation)}</caption>
<thead><tr><th scope="col">Index</th><th scope="col" class="number">Documents</th><th scope="col" class="number">Size</th><th scope="col">Generation</th></tr></thead>
<tbody>${seen.value.map(
    ({ name, documents, bytes, generation }) =>
      html`<tr><th scope="row"><code>${name}</code></th><td class="number">${count(documents)}</td><td class="number">${size(bytes)}</td><td>${generation} ${generation === own.generation ? html`<span class="badge good">written</span>` : ''}</td></tr>`,
  )}</tbody>
</table>
</div>
</section>`
}

const rebuild = (state: RebuildSurvey | undefined): Html | '' =>
  state === undefined
    ? ''
    : html`<div class="panel rebuild">
<p><strong>${state.isRunning ? 'A rebuild is running' : 'A rebuild was left half way'}</strong> <span class="muted">${Math.floor(100 * state.progress)} % of the records are in the next generation.${state.isRunning ? '' : ' Run it again to go on.'}</span></p>
${meter('Records in the next generation', state.progress, `${Math.floor(100 * state.progress)} %`)}
</div>`

function generationsInWords(all: readonly IndexSurvey[], written: number | undefined): string {
  const others = [...new Set(all.map(({ generation }) => generation))].filter((each) => each !== written)
  const own = written === undefined ? 'No generation is written' : `Generation ${written} is written`
  return others.length === 0 ? own : `${own}; there is also ${others.join(', ')}`
}

/** A share of a whole, 0 to 1, as a bar. */
export const meter = (label: string, share: number, inWords: string): Html =>
  html`<svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label="${label}: ${inWords}"><rect class="whole" width="100" height="6"/><rect class="part" width="${Math.min(100, Math.max(0, 100 * share)).toFixed(1)}" height="6"/></svg>`

import { type Html, html } from '../../src/core/process/html.ts'
import { meter } from './chart.ts'
import { count, size, timeOfDay } from './format.ts'
import type { RebuildSurvey } from './groupSurvey.ts'
import type { IndexSurvey } from './indexSurvey.ts'
import type { StatusView } from './view.ts'

/** The indices by generation, and the progress of a rebuild. */
export function indexTable({ observed, own }: StatusView): Html {
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

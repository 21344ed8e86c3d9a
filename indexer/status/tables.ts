import { partitionName } from '../../src/core/kafka/sourceRecord.ts'
import { type Html, html } from '../../src/core/process/html.ts'
import { meter } from './chart.ts'
import { count, duration, size, timeOfDay } from './format.ts'
import type { RebuildSurvey } from './groupSurvey.ts'
import type { IndexSurvey } from './indexSurvey.ts'
import { lagsOf, type PartitionLag } from './observe.ts'
import type { StatusView } from './view.ts'

type Row = {
  readonly partition: number
  readonly behindRecords: number
  /** Undefined when the partition's watermark is unknown. */
  readonly behindSeconds: number | undefined
  readonly owner: 'this' | 'other' | 'none'
}

/** Every partition of the source topics: its lag, and whether this or another indexer owns it. */
export function partitionTable(view: StatusView): Html {
  const { group } = view.observed
  const own = new Set(view.own.partitions.map(partitionName))
  if (group === undefined) return html`<section><h2>Partitions</h2><p class="panel muted">Not known yet.</p></section>`
  const { indexers } = group.value
  const byTopic = Map.groupBy(lagsOf(group, view.observed.marks), ({ topic }) => topic)
  return html`<section>
<div class="section-head"><h2>Partitions</h2><p class="muted">${indexers === 1 ? 'One indexer reads' : `${count(indexers)} indexers read`} · as of ${timeOfDay(group.atMs)}</p></div>
<div class="topics">${[...byTopic].map(([topic, some]) => topicPanel(topic, rowsOf(some, own)))}</div>
</section>`
}

/** The rows of a topic. */
function rowsOf(some: readonly PartitionLag[], own: ReadonlySet<string>): Row[] {
  return some
    .toSorted((a, b) => a.partition - b.partition)
    .map((each) => ({
      partition: each.partition,
      behindRecords: each.behindRecords,
      behindSeconds: each.behindSeconds,
      owner: own.has(partitionName(each)) ? 'this' : each.isOwned ? 'other' : 'none',
    }))
}

const topicPanel = (topic: string, rows: readonly Row[]): Html => html`<div class="panel">
<table>
<caption>${topic}</caption>
<thead><tr><th scope="col">Partition</th><th scope="col" class="number">Records behind</th><th scope="col" class="number">Time behind</th><th scope="col">Indexer</th></tr></thead>
<tbody>${rows.map(
  ({ partition, behindRecords, behindSeconds, owner }) =>
    html`<tr><th scope="row">${partition}</th><td class="number">${count(behindRecords)}</td><td class="number">${behindSeconds === undefined ? 'not known' : duration(behindSeconds)}</td><td>${owner === 'none' ? html`<span class="badge bad">none</span>` : html`<span class="owner ${owner}">${owner}</span>`}</td></tr>`,
)}</tbody>
</table>
</div>`

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

import { partitionName } from '../../src/core/kafka/sourceRecord.ts'
import { type Html, html } from '../../src/core/pages/html.ts'
import { count, duration, orUnknown, ranges, size } from './format.ts'
import type { Level } from './likelyCauses.ts'
import { lagsOf, type Observed, type PartitionLag } from './observe.ts'
import type { OwnState } from './ownState.ts'
import { sectionHead, unknownSection } from './section.ts'
import { recordsBehind } from './surveyGroup.ts'

export const badge = (level: Level, text: string): Html =>
  html`<span class="badge" data-variant="${level}">${text}</span>`

const numbersOf = (indexers: readonly { readonly id: string }[]): ReadonlyMap<string, number> =>
  new Map(
    indexers
      .map(({ id }) => id)
      .sort()
      .map((id, at) => [id, at + 1]),
  )

/** Undefined while this process owns no partition. */
function ownId(own: OwnState, lags: readonly PartitionLag[]): string | undefined {
  const owned = new Set(own.partitions.map(partitionName))
  return lags.find((lag) => owned.has(partitionName(lag)))?.owner
}

/** An indexer that has not committed for this time (s) is marked as failing: every round ends with a commit. */
const silentSeconds = 30

export function indexersTable(own: OwnState, { group, visibleMs }: Observed, nowMs: number): Html {
  if (group === undefined) return unknownSection('Indexers')
  const lags = lagsOf(group, visibleMs)
  const numbers = numbersOf(group.value.indexers)
  const thisId = ownId(own, lags)
  const row = ({ id, host }: { readonly id: string; readonly host: string }): Html => {
    const owned = lags.filter(({ owner }) => owner === id)
    const committedAtMs = Math.max(0, ...owned.map((partition) => partition.committedAtMs ?? 0))
    const silent = Math.max(0, nowMs - committedAtMs) / 1_000
    const lastCommit = committedAtMs === 0 ? 'not known' : `${duration(silent)} ago`
    const level = committedAtMs > 0 && silent > silentSeconds ? 'danger' : undefined
    return html`<tr><th scope="row">${numbers.get(id)} <span class="text-light">${host}</span> ${id === thisId ? badge('success', 'this') : ''} <span class="owned">${owned.length === 0 ? 'no partition' : partitionsText(owned)}</span></th><td class="number">${count(recordsBehind(owned))}</td><td class="number">${level === undefined ? lastCommit : badge(level, lastCommit)}</td></tr>`
  }
  const { indexers } = group.value
  return html`<section class="indexers">
${sectionHead('Indexers', group.atMs, nowMs)}
<div class="card">
${
  indexers.length === 0
    ? html`<p>No indexer reads.</p>`
    : html`<table>
<caption>${indexers.length === 1 ? 'One indexer reads' : `${count(indexers.length)} indexers read`}</caption>
<thead><tr><th scope="col">Indexer and its partitions</th><th scope="col" class="number">Records behind</th><th scope="col" class="number">Last commit</th></tr></thead>
<tbody>${indexers.toSorted((a, b) => (numbers.get(a.id) ?? 0) - (numbers.get(b.id) ?? 0)).map(row)}</tbody>
</table>`
}
</div>
</section>`
}

/** `forms 0–3; submissions 1`. */
const partitionsText = (partitions: readonly PartitionLag[]): string =>
  [...Map.groupBy(partitions, ({ topic }) => topic)]
    .map(([topic, ofTopic]) => `${topic} ${ranges(ofTopic.map(({ partition }) => partition))}`)
    .join('; ')

export function partitionTables(own: OwnState, { group, visibleMs }: Observed, nowMs: number): Html {
  if (group === undefined) return unknownSection('Partitions')
  const lags = lagsOf(group, visibleMs)
  const numbers = numbersOf(group.value.indexers)
  const thisId = ownId(own, lags)
  const ownerOf = ({ owner }: PartitionLag): Html | string => {
    if (owner === undefined) return badge('danger', 'none')
    return owner === thisId ? `${numbers.get(owner)}, this` : `${numbers.get(owner)}`
  }
  const row = (lag: PartitionLag): Html =>
    html`<tr><th scope="row">${lag.partition}</th><td class="number">${count(lag.behindRecords)}</td><td class="number">${orUnknown(lag.behindSeconds, duration)}</td><td>${ownerOf(lag)}</td></tr>`
  const table = (topic: string, ofTopic: readonly PartitionLag[]): Html => html`<div class="card">
<table>
<caption>${topic}</caption>
<thead><tr><th scope="col">Partition</th><th scope="col" class="number">Records behind</th><th scope="col" class="number">Time behind</th><th scope="col">Indexer</th></tr></thead>
<tbody>${ofTopic.toSorted((a, b) => a.partition - b.partition).map(row)}</tbody>
</table>
</div>`
  return html`<section>
${sectionHead('Partitions', group.atMs, nowMs)}
<div class="topics">${[...Map.groupBy(lags, ({ topic }) => topic)].map(([topic, ofTopic]) => table(topic, ofTopic))}</div>
</section>`
}

export function indexTable(own: OwnState, { indices }: Observed, nowMs: number): Html {
  if (indices === undefined) return unknownSection('Indices')
  const others = new Set(
    indices.value.map(({ generation }) => generation).filter((number) => number !== own.generation),
  )
  const written = own.generation === undefined ? 'No generation is written' : `Generation ${own.generation} is written`
  return html`<section>
${sectionHead('Indices', indices.atMs, nowMs)}
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

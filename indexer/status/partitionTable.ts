import { type Html, html } from '../../src/core/process/html.ts'
import { partitionName } from '../../src/core/stores/sourceRecord.ts'
import { count, duration, timeOfDay } from './format.ts'
import type { PartitionSurvey } from './groupSurvey.ts'
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
  if (group === undefined) return html`<section><h2>Partitions</h2><p class="panel muted">Not known yet.</p></section>`
  const { indexers, partitions: all } = group.value
  const byTopic = Map.groupBy(all, ({ topic }) => topic)
  return html`<section>
<div class="section-head"><h2>Partitions</h2><p class="muted">${indexers === 1 ? 'One indexer reads' : `${count(indexers)} indexers read`} · as of ${timeOfDay(group.atMs)}</p></div>
<div class="topics">${[...byTopic].map(([topic, some]) => topicPanel(topic, rowsOf(some, view)))}</div>
</section>`
}

/** For its own partitions, this indexer's figures are newer than those of the last survey of Kafka. */
function rowsOf(some: readonly PartitionSurvey[], { own, observed, nowMs }: StatusView): Row[] {
  const mine = new Map(own.lags.map((lag) => [partitionName(lag), lag]))
  return some
    .toSorted((a, b) => a.partition - b.partition)
    .map((each) => {
      const lag = mine.get(partitionName(each))
      const markMs = observed.marks.get(partitionName(each))
      const elsewhere = markMs === undefined ? undefined : Math.max(0, nowMs - markMs) / 1_000
      const seconds = each.behindRecords === 0 ? 0 : elsewhere
      return {
        partition: each.partition,
        behindRecords: lag === undefined ? each.behindRecords : Number(lag.records),
        behindSeconds: lag === undefined ? seconds : lag.seconds,
        owner: lag !== undefined ? 'this' : each.isOwned ? 'other' : 'none',
      }
    })
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

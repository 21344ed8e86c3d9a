import { partitionName } from '../../src/core/kafka/sourceRecord.ts'
import { type CheckResult, isHealthy } from '../../src/core/process/health.ts'
import { type Html, html, htmlDocument } from '../../src/core/process/html.ts'
import type { AssetPaths } from '../../src/core/process/staticFile.ts'
import type { RecordOutcome } from '../metrics.ts'
import { count, duration, rate, size, timeOfDay } from './format.ts'
import { lagsOf, type Observed, type OwnState, type PartitionLag } from './observe.ts'
import type { IndexSurvey, RebuildSurvey } from './surveys.ts'

/** All data that the status page shows. */
export type StatusView = {
  readonly nowMs: number
  /** The state of the indexer that serves the page. */
  readonly own: OwnState
  /** Its host and process, such as `host, process 12`. */
  readonly name: string
  readonly residentBytes: number
  /** Records that it has processed since it started. */
  readonly records: Readonly<Record<RecordOutcome, number>>
  readonly checks: readonly CheckResult[]
  readonly observed: Observed
  readonly isRefreshing: boolean
}

const refreshSeconds = 5

/** The whole document. The script replaces its content; without JavaScript the browser reloads it. */
export function statusPage(view: StatusView, assets: AssetPaths): Html {
  const { nowMs, checks: results, observed, isRefreshing } = view
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
    } Seen by ${view.name} at <time datetime="${new Date(nowMs).toISOString()}">${timeOfDay(nowMs)}</time> UTC.</p>
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

type Level = 'good' | 'warn' | 'bad' | 'idle'

/** The four most important figures. */
function tiles({ nowMs, observed: { watermarkMs, group } }: StatusView): Html {
  const ageSeconds = watermarkMs === undefined ? undefined : Math.max(0, nowMs - watermarkMs) / 1_000
  const { partitions, recordsPerSecond, deadLetters } = group?.value ?? {}
  const behind = partitions?.reduce((sum, { behindRecords }) => sum + behindRecords, 0)
  return html`<section class="tiles" aria-label="Figures">
${tile('Watermark age', watermarkLevel(ageSeconds), ageSeconds, duration, 'Everything appended to Kafka before it is searchable.')}
${tile('Records behind', 'idle', behind, count, 'Appended to Kafka and not visible yet, all partitions.')}
${tile('Records a second', 'idle', recordsPerSecond, rate, 'Made visible by all indexers together.')}
${tile('Dead letters', deadLetters ? 'warn' : 'idle', deadLetters, count, 'Dead-lettered records that Kafka still keeps.')}
</section>`
}

const tile = (
  title: string,
  level: Level,
  now: number | undefined,
  say: (value: number) => string,
  about: string,
): Html => html`<article class="panel tile ${level}">
<h2>${title}</h2>
<p class="figure">${now === undefined ? 'not known' : say(now)}</p>
<p class="muted">${about}</p>
</article>`

const lateSeconds = 30
const veryLateSeconds = 300

/** The level of a watermark's age, by the thresholds of the alerts. */
function watermarkLevel(ageSeconds: number | undefined): Level {
  if (ageSeconds === undefined || ageSeconds > veryLateSeconds) return 'bad'
  return ageSeconds > lateSeconds ? 'warn' : 'good'
}

/** The health checks; the problems of those that fail are at the top of the page. */
const checks = ({ checks: all }: StatusView): Html => html`<section class="panel">
<h2>Checks</h2>
<ul class="checks" role="list">${all.map(check)}</ul>
</section>`

const check = ({ name, problem }: CheckResult): Html =>
  html`<li><span>${name}</span> ${problem === undefined ? html`<span class="badge good">ok</span>` : html`<span class="badge bad">not ok</span>`}</li>`

/** What this indexer has processed, and the memory it takes. */
function thisIndexer({ own, nowMs, observed, name, residentBytes, records }: StatusView): Html {
  const memory = observed.redisMemory?.value
  const share = own.inFlightBytes / own.maxInFlightBytes
  const inFlight = `${size(own.inFlightBytes)} of ${size(own.maxInFlightBytes)}`
  return html`<section class="panel">
<h2>This indexer</h2>
<dl class="facts">
<div><dt>Process</dt><dd>${name}</dd></div>
<div><dt>Running for</dt><dd>${duration((nowMs - own.startedAtMs) / 1_000)}</dd></div>
<div><dt>Partitions</dt><dd>${count(own.partitions.length)}</dd></div>
<div><dt>Memory</dt><dd>${size(residentBytes)}</dd></div>
<div><dt>Records since it started</dt><dd>${count(records.indexed)} indexed, ${count(records.stale)} stale, ${count(records['dead-letter'])} dead-lettered</dd></div>
<div><dt>In flight</dt><dd>${inFlight}${meter('Bytes in flight', share, inFlight)}</dd></div>
${memory === undefined ? '' : html`<div><dt>Redis</dt><dd>${redisInWords(memory)}</dd></div>`}
</dl>
</section>`
}

const redisInWords = ({ usedBytes, limitBytes }: { usedBytes: number; limitBytes: number | undefined }): Html =>
  limitBytes === undefined
    ? html`holds ${size(usedBytes)}, without a bound`
    : html`holds ${size(usedBytes)} of ${size(limitBytes)}${meter('Memory of Redis', usedBytes / limitBytes, `${size(usedBytes)} of ${size(limitBytes)}`)}`

/** A bar for a share of a whole, 0 to 1. */
export const meter = (label: string, share: number, inWords: string): Html =>
  html`<svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label="${label}: ${inWords}"><rect class="whole" width="100" height="6"/><rect class="part" width="${Math.min(100, Math.max(0, 100 * share)).toFixed(1)}" height="6"/></svg>`

type Row = {
  readonly partition: number
  readonly behindRecords: number
  /** Undefined when the partition's watermark is unknown. */
  readonly behindSeconds: number | undefined
  readonly owner: 'this' | 'other' | 'none'
}

/** Every partition of the source topics: its lag, and whether this or another indexer owns it. */
function partitionTable(view: StatusView): Html {
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
function indexTable({ observed, own }: StatusView): Html {
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

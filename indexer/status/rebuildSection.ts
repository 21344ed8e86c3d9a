import { type Html, html } from '../../src/core/pages/html.ts'
import { type RebuildPhase, type ReportedRebuild, rebuildPhases } from '../../src/core/redis/rebuildProgress.ts'
import { clockText, count, counted, duration } from './format.ts'
import type { RebuildState } from './rebuildState.ts'

/** Up to this age (s), a sign of life is shown as "a few seconds ago". */
const usualSilenceSeconds = 8

export function rebuildSection(rebuild: RebuildState | undefined, nowMs: number): Html {
  const text = (content: Html | string): Html =>
    html`<section class="rebuild"><h2>Rebuild</h2><div class="card">${content}</div></section>`
  switch (rebuild?.kind) {
    case undefined:
      return text(html`<p>Not known yet.</p>`)
    case 'none':
      return text(html`<p>No rebuild runs.</p>`)
    case 'left':
      return text(html`<p><strong>A rebuild was left half way</strong> <span class="text-light">${shareText(rebuild.readShare)} Run it again to go on.</span></p>
${factsOf(leftFacts(rebuild.report, nowMs))}`)
    case 'running':
      return text(html`<p><strong>A rebuild is running</strong> <span class="text-light">${rebuild.report?.generation ? `It builds generation ${rebuild.report.generation}.` : shareText(rebuild.readShare)}</span></p>
${rebuild.report === undefined ? '' : progressBar(rebuild.report)}
${factsOf(runningFacts(rebuild.report, rebuild.helpers))}`)
  }
}

const shareText = (share: number): string => `${Math.floor(100 * share)} % of the records are in the next generation.`

const phaseTexts: Readonly<Record<RebuildPhase, string>> = {
  prepare: 'removes what earlier rebuilds have left',
  fill: 'reads the topics',
  compare: 'compares with the serving generation',
  switch: 'switches readers',
  remove: 'waits until the old generation has no readers, and removes it',
}

const phaseText = (phase: RebuildPhase): string =>
  `${rebuildPhases.indexOf(phase) + 1} of ${rebuildPhases.length}: ${phaseTexts[phase]}`

type Fact = readonly [name: string, value: string]

const nounOf = (phase: RebuildPhase): 'Records read' | 'Documents compared' =>
  phase === 'fill' ? 'Records read' : 'Documents compared'

const progressFact = ({ phase, done, total }: ReportedRebuild): Fact[] =>
  done === null || total === null ? [] : [[nounOf(phase), `${count(done)} of ${count(total)}`]]

function runningFacts(report: ReportedRebuild | undefined, helpers: number): Fact[] {
  const members: Fact = ['Members that help', count(helpers)]
  if (report === undefined) return [members, ['Last sign of life', 'not known']]
  const { phase, done, total, perSecond, ageMs } = report
  const facts: Fact[] = [['Phase', phaseText(phase)], ...progressFact(report)]
  if (perSecond !== null && done !== null && total !== null && done < total) {
    facts.push(['Rate', `${counted(perSecond, phase === 'fill' ? 'record' : 'document')} a second`])
    facts.push([
      'Time left in this phase',
      perSecond > 0 ? `about ${duration((total - done) / perSecond)}` : 'not known',
    ])
  }
  if (phase === 'fill') facts.push(members)
  const silentSeconds = ageMs / 1_000
  facts.push([
    'Last sign of life',
    silentSeconds < usualSilenceSeconds ? 'a few seconds ago' : `${duration(silentSeconds)} ago`,
  ])
  return facts
}

function leftFacts(report: ReportedRebuild | undefined, nowMs: number): Fact[] {
  if (report === undefined) return []
  const at = clockText(nowMs - report.ageMs, nowMs)
  return [
    ['Ended in phase', phaseText(report.phase)],
    ...progressFact(report),
    ['Last sign of life', `${duration(report.ageMs / 1_000)} ago, at ${at}`],
  ]
}

const factsOf = (facts: readonly Fact[]): Html | '' =>
  facts.length === 0
    ? ''
    : html`<dl class="facts">${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`

function progressBar({ phase, done, total }: ReportedRebuild): Html | '' {
  if (done === null || total === null || total === 0) return ''
  const percent = Math.floor((100 * Math.min(done, total)) / total)
  return html`<progress max="100" value="${percent}" aria-label="${nounOf(phase)}, in percent">${percent} %</progress>`
}

import { readFileSync } from 'node:fs'
import { Registry } from 'prom-client'
import { pipelineMetrics } from '../../indexer/metrics.ts'
import { indexerMetrics } from '../../indexer/status/indexerMetrics.ts'
import { AnswerCache } from '../../src/api/answerCache.ts'
import { rejectionReasons as apiRejectionReasons } from '../../src/api/errors.ts'
import { parameterReader } from '../../src/api/parameters.ts'
import { WaitingRoom } from '../../src/api/waiting.ts'
import { requestMetrics } from '../../src/core/http/requestLog.ts'
import { processMetrics } from '../../src/core/monitoring/metrics.ts'
import { measureCalls } from '../../src/core/process/openStores.ts'
import { rejectionReasons } from '../../src/settings/errors.ts'
import { observedState, ownState } from './observedState.ts'

/** The letters of the processes in docs/metrics.md. */
export type Process = 'A' | 'I' | 'S'

/** Whether a metric is Tidemark's own, not a default one of prom-client, which the page does not list. */
export const isOwn = ({ name }: Pick<Metric, 'name'>): boolean => name.startsWith('tidemark_')

export type Metric = { readonly name: string; readonly type: string; readonly labels: readonly string[] }

/** The metrics of a process in docs/metrics.md. */
export function documentedMetrics(process: Process): Metric[] {
  const rows = readFileSync('docs/metrics.md', 'utf8').matchAll(
    /^\| `(?<name>\w+)` \| (?<type>\w+) \| (?<labels>[^|]*)\| (?<of>[AIS ]+) \|/gm,
  )
  return [...rows].flatMap(({ groups: { name = '', type = '', labels = '', of = '' } = {} }) =>
    of.includes(process)
      ? [{ name, type, labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label ?? '') }]
      : [],
  )
}

/** The metrics that a process registers. */
export async function registeredMetrics(process: Process): Promise<Metric[]> {
  const registry = new Registry()
  processMetrics(registry, { results: async () => [], isReady: () => true })
  measureCalls(registry)
  if (process === 'A') registerApi(registry)
  if (process === 'S') requestMetrics(registry, rejectionReasons)
  if (process === 'I') registerIndexer(registry)
  const labels = new Map(registry.getMetricsAsArray().map((metric) => [metric.name, labelsOf(metric)]))
  const all = await registry.getMetricsAsJSON()
  return all.map(({ name, type }) => ({ name, type: String(type), labels: labels.get(name) ?? [] }))
}

function registerApi(registry: Registry): void {
  new AnswerCache(0, registry)
  requestMetrics(registry, apiRejectionReasons)
  parameterReader(registry)
  new WaitingRoom(
    async () => [],
    () => 0,
    registry,
  )
}

function registerIndexer(registry: Registry): void {
  pipelineMetrics(registry, [])
  indexerMetrics(
    registry,
    () => ownState(),
    () => observedState(),
    () => [],
    () => 0,
  )
}

const labelsOf = (metric: object): string[] =>
  (metric as { labelNames: string[] }).labelNames.filter((name) => name !== 'le')

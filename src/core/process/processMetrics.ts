import { collectDefaultMetrics, type Registry } from 'prom-client'
import { type Health, isHealthy } from './health.ts'
import { metricsIn } from './metrics.ts'

/** The metrics of every process: the defaults of prom-client, and readiness. */
export function processMetrics(registry: Registry, health: Pick<Health, 'results'>): void {
  collectDefaultMetrics({ register: registry })
  const { gauge, labelledGauge } = metricsIn(registry)
  gauge('tidemark_ready', '1 while /readyz answers 200, else 0', async () => Number(isHealthy(await health.results())))
  labelledGauge('tidemark_check_ok', '1 while a check of /readyz passes, else 0', ['check'], async () =>
    (await health.results()).map(({ name, problem }) => [{ check: name }, Number(problem === undefined)]),
  )
}

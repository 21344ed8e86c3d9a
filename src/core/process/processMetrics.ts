import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client'
import { type Health, isHealthy } from './health.ts'

/** The metrics of every process: the defaults of prom-client, and readiness. */
export function processMetrics(registry: Registry, health: Pick<Health, 'results'>): void {
  collectDefaultMetrics({ register: registry })
  new Gauge({
    name: 'tidemark_ready',
    help: '1 while /readyz answers 200, else 0',
    registers: [registry],
    async collect() {
      this.set(Number(isHealthy(await health.results())))
    },
  })
  new Gauge({
    name: 'tidemark_check_ok',
    help: '1 while a check of /readyz passes, else 0',
    labelNames: ['check'] as const,
    registers: [registry],
    async collect() {
      for (const { name, problem } of await health.results()) this.set({ check: name }, Number(problem === undefined))
    },
  })
}

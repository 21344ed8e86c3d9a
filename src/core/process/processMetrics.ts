import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { type Health, isHealthy } from './health.ts'

/** The default metrics of prom-client that operators use; every Prometheus client library has the same names. */
const kept = [
  'process_start_time_seconds',
  'process_resident_memory_bytes',
  'process_open_fds',
  'process_max_fds',
  'nodejs_heap_size_used_bytes',
  // Collecting this one also sets the other event loop metrics.
  'nodejs_eventloop_lag_seconds',
  'nodejs_eventloop_lag_p99_seconds',
  'nodejs_eventloop_lag_max_seconds',
  'nodejs_gc_duration_seconds',
  'nodejs_version_info',
]

/** The metrics of every process: memory, event loop, and readiness. */
export function processMetrics(registry: Registry, health: Pick<Health, 'results'>): void {
  const known = new Registry()
  collectDefaultMetrics({ register: known })
  for (const name of kept) {
    const metric = known.getSingleMetric(name)
    if (metric !== undefined) registry.registerMetric(metric)
  }
  // prom-client updates its own counter only together with the counters of user and system time.
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'Total user and system CPU time spent in seconds.',
    registers: [registry],
    collect() {
      const { user, system } = process.cpuUsage()
      this.reset()
      this.inc((user + system) / 1e6)
    },
  })
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

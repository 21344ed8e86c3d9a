import { Registry } from 'prom-client'
import { processMetrics } from '../../../../src/core/process/processMetrics.ts'

test('CPU time is that of the process, and grows with it', async () => {
  const registry = new Registry()
  processMetrics(registry, { results: async () => [] })
  const told = async (): Promise<number> =>
    Number(/^process_cpu_seconds_total (.+)$/m.exec(await registry.metrics())?.[1])
  const before = process.cpuUsage()
  const first = await told()
  expect(first).toBeGreaterThanOrEqual((before.user + before.system) / 1e6)
  const busyUntilMs = performance.now() + 50
  while (performance.now() < busyUntilMs);
  expect(await told()).toBeGreaterThan(first)
})

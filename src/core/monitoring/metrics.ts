import { channel } from 'node:diagnostics_channel'
import { Counter, collectDefaultMetrics, Gauge, Histogram, type Registry } from 'prom-client'
import type { Health } from './health.ts'

/** Undefined leaves the sample out of the scrape. */
type Value = number | undefined
export type Sample = readonly [labels: Readonly<Record<string, string | number>>, value: Value]
type ReadSamples = () => readonly Sample[] | Promise<readonly Sample[]>

/** Makes metrics in a registry; each scrape calls `read`. */
export function metricsIn(registry: Registry) {
  const registers = [registry]
  const labelledGauge = (name: string, help: string, labelNames: string[], read: ReadSamples): Gauge =>
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      async collect() {
        const samples = await read()
        this.reset()
        // `reset` leaves a gauge without labels at 0.
        this.remove({})
        for (const [labels, value] of samples) if (value !== undefined) this.set(labels, value)
      },
    })
  return {
    labelledGauge,
    gauge: (name: string, help: string, read: () => Value | Promise<Value>): Gauge =>
      labelledGauge(name, help, [], async () => [[{}, await read()]]),
    counter: <L extends string = never>(name: string, help: string, labelNames: readonly L[] = []) =>
      new Counter({ name, help, labelNames, registers }),
    histogram: <L extends string = never>(
      name: string,
      help: string,
      buckets: number[],
      labelNames: readonly L[] = [],
    ) => new Histogram({ name, help, buckets, labelNames, registers }),
  }
}

/** Adds the default metrics of prom-client, and readiness. Publishes the registry on a channel of Node, where exporters find it. */
export function processMetrics(registry: Registry, health: Pick<Health, 'results' | 'isReady'>): void {
  collectDefaultMetrics({ register: registry })
  channel('tidemark.metrics').publish({ metrics: registry })
  const { gauge, labelledGauge } = metricsIn(registry)
  gauge('tidemark_ready', '1 while /readyz answers 200, else 0', async () =>
    Number(health.isReady(await health.results())),
  )
  labelledGauge('tidemark_check_ok', '1 while a check of /readyz passes, else 0', ['check'], async () =>
    (await health.results()).map(({ name, ok }) => [{ check: name }, Number(ok)]),
  )
}

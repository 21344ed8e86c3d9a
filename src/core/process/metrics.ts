import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

type Value = number | undefined
export type Sample = readonly [labels: Readonly<Record<string, string | number>>, value: Value]

/** Makes metrics in a registry. A gauge is read whenever the metrics are asked for; a value is absent while it is unknown. */
export function metricsIn(registry: Registry) {
  const registers = [registry]
  const labelledGauge = (
    name: string,
    help: string,
    labelNames: string[],
    read: () => readonly Sample[] | Promise<readonly Sample[]>,
  ): Gauge =>
    new Gauge({
      ...{ name, help, labelNames, registers },
      async collect() {
        const samples = await read()
        this.reset()
        // Without labels it is 0 after a reset.
        this.remove({})
        for (const [labels, value] of samples) if (value !== undefined) this.set(labels, value)
      },
    })
  return {
    labelledGauge,
    gauge: (name: string, help: string, read: () => Value | Promise<Value>): Gauge =>
      labelledGauge(name, help, [], async () => [[{}, await read()]]),
    counter: <Label extends string = never>(name: string, help: string, labelNames: readonly Label[] = []) =>
      new Counter({ name, help, labelNames, registers }),
    histogram: <Label extends string = never>(
      name: string,
      help: string,
      buckets: number[],
      labelNames: readonly Label[] = [],
    ) => new Histogram({ name, help, buckets, labelNames, registers }),
  }
}

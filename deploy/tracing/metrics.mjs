// Metrics of the process by OTLP: what `/metrics` of its admin port says, under the same names. See docs/tracing.md.
import { subscribe } from 'node:diagnostics_channel'
import { ValueType } from '@opentelemetry/api'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import {
  AggregationTemporality,
  DataPointType,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'

/** Sends the metrics of the process every `OTEL_METRIC_EXPORT_INTERVAL` milliseconds (60,000) once it has some. */
export function sendMetrics(resource) {
  const startTime = hrTime(performance.timeOrigin)
  let registry
  subscribe('tidemark.metrics', (message) => {
    registry = message.metrics
  })
  const collect = async () => {
    const times = { startTime, endTime: hrTime(Date.now()) }
    const metrics = ((await registry?.getMetricsAsJSON()) ?? []).map((metric) => metricData(metric, times))
    return { resourceMetrics: { resource, scopeMetrics: [{ scope: { name: 'tidemark' }, metrics }] }, errors: [] }
  }
  const reader = new PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter(),
    exportIntervalMillis: Number(process.env.OTEL_METRIC_EXPORT_INTERVAL ?? 60_000),
    metricProducers: [{ collect }],
  })
  return new MeterProvider({ resource, readers: [reader] })
}

const hrTime = (ms) => [Math.floor(ms / 1_000), Math.round((ms % 1_000) * 1e6)]

/** A metric of prom-client in OpenTelemetry's form. */
function metricData({ name, help, type, values }, times) {
  const { kind, read } = kinds[type]
  return {
    descriptor: { name, description: help, unit: '', valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
    ...kind,
    dataPoints: read(values).map((point) => ({ ...times, ...point })),
  }
}

const numbersOf = (values) => values.map(({ labels, value }) => ({ attributes: labels, value }))

/** One histogram for each set of labels: its buckets in order, its sum and its count. */
const histogramsOf = (values) =>
  Object.values(Object.groupBy(values, ({ labels }) => JSON.stringify({ ...labels, le: undefined }))).map((samples) => {
    const { le: _, ...attributes } = samples[0].labels
    const valueAt = (ending) => samples.find(({ metricName }) => metricName.endsWith(ending)).value
    const buckets = samples.filter(({ labels }) => labels.le !== undefined)
    return { attributes, value: { buckets: ownCounts(buckets), sum: valueAt('_sum'), count: valueAt('_count') } }
  })

/** Prometheus counts in each bucket also what lies in those before it; OpenTelemetry does not, and its last one has no boundary. */
const ownCounts = (buckets) => ({
  boundaries: buckets.slice(0, -1).map(({ labels }) => labels.le),
  counts: buckets.map(({ value }, at) => value - (buckets[at - 1]?.value ?? 0)),
})

const kinds = {
  counter: { kind: { dataPointType: DataPointType.SUM, isMonotonic: true }, read: numbersOf },
  gauge: { kind: { dataPointType: DataPointType.GAUGE }, read: numbersOf },
  histogram: { kind: { dataPointType: DataPointType.HISTOGRAM }, read: histogramsOf },
}

import { text } from 'node:stream/consumers'
import { startLocalServer } from './localServer.ts'

type Attribute = { readonly key: string; readonly value: Readonly<Record<string, unknown>> }
type SpanLink = { readonly traceId: string; readonly spanId: string }

/** A span in OTLP JSON. */
export type ReceivedSpan = {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly attributes: readonly Attribute[]
  readonly links?: readonly SpanLink[]
}

type DataPoint = {
  readonly attributes: readonly Attribute[]
  readonly asDouble?: number
  readonly count?: number | string
  readonly bucketCounts?: readonly (number | string)[]
}
type MetricKind = 'sum' | 'gauge' | 'histogram'
type Metric = { readonly name: string } & {
  readonly [kind in MetricKind]?: { readonly dataPoints: readonly DataPoint[] }
}

/** A sample of a metric in OTLP JSON: its value, or how many values its histogram has counted. */
export type ReceivedSample = {
  readonly name: string
  readonly kind: MetricKind
  readonly labels: Readonly<Record<string, unknown>>
  readonly value: number
  readonly bucketCounts: readonly number[]
}

type Body = {
  readonly resourceSpans?: readonly { readonly scopeSpans: readonly { readonly spans: readonly ReceivedSpan[] }[] }[]
  readonly resourceMetrics?: readonly { readonly scopeMetrics: readonly { readonly metrics: readonly Metric[] }[] }[]
}

/** Starts a collector that keeps all spans and samples it receives. */
export async function startTraceReceiver() {
  const bodies: string[] = []
  const { url, close } = await startLocalServer((request, response) => {
    const keep = (body: string): void => {
      bodies.push(body)
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    }
    text(request).then(keep, () => response.destroy())
  })
  return {
    /** The value for OTEL_EXPORTER_OTLP_ENDPOINT. */
    url,
    close,
    spans: (): readonly ReceivedSpan[] => bodies.flatMap((body) => spansIn(JSON.parse(body) as Body)),
    /** Of each export so far, its samples. */
    exports: (): readonly (readonly ReceivedSample[])[] => bodies.map((body) => samplesIn(JSON.parse(body) as Body)),
    /** All request bodies so far, raw. */
    text: () => bodies.join('\n'),
  }
}

const spansIn = ({ resourceSpans = [] }: Body): ReceivedSpan[] =>
  resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))

const samplesIn = ({ resourceMetrics = [] }: Body): ReceivedSample[] =>
  resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics.flatMap(samplesOf)))

function samplesOf(metric: Metric): ReceivedSample[] {
  const kind = (['sum', 'gauge', 'histogram'] as const).find((candidate) => metric[candidate] !== undefined) ?? 'gauge'
  return (metric[kind]?.dataPoints ?? []).map(({ attributes, asDouble, count, bucketCounts = [] }) => ({
    name: metric.name,
    kind,
    labels: Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]])),
    value: Number(asDouble ?? count),
    bucketCounts: bucketCounts.map(Number),
  }))
}

/** The value of a span's attribute; undefined if missing. */
export const attributeOf = ({ attributes }: ReceivedSpan, name: string): unknown =>
  Object.values(attributes.find(({ key }) => key === name)?.value ?? {})[0]

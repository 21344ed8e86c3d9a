// Traces, and metrics if asked for, of the process into which this file is imported before everything else, sent to a collector by OTLP.
// See docs/tracing.md.
import { register } from 'node:module'
import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { registerInstrumentations } from '@opentelemetry/instrumentation'
import { defaultResource, detectResources, envDetector } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { instrumentations } from './instrumentations.mjs'
import { sendMetrics } from './metrics.mjs'
import { traceRecords } from './records.mjs'
import { RedactingExporter } from './redactingExporter.mjs'

// Only these two are loaded differently; all other modules load as they do without tracing.
register('import-in-the-middle/hook.mjs', import.meta.url, { data: { include: ['node:http', 'http', 'ioredis'] } })

const ratio = new TraceIdRatioBasedSampler(Number(process.env.OTEL_TRACES_SAMPLER_ARG ?? 1))
const resource = defaultResource().merge(detectResources({ detectors: [envDetector] }))
const provider = new TracerProvider({
  resource,
  // A client of the API cannot decide that more is traced, but can continue a trace of its own.
  sampler: new ParentBasedSampler({ root: ratio, remoteParentSampled: ratio }),
  spanProcessors: [
    new BatchSpanProcessor({
      exporter: new RedactingExporter(new OTLPTraceExporter()),
      scheduledDelayMillis: Number(process.env.OTEL_BSP_SCHEDULE_DELAY ?? 5_000),
    }),
  ],
})
const contexts = new AsyncLocalStorageContextManager().enable()
trace.setGlobalTracerProvider(provider)
context.setGlobalContextManager(contexts)
propagation.setGlobalPropagator(new W3CTraceContextPropagator())
registerInstrumentations({ tracerProvider: provider, instrumentations: instrumentations() })
traceRecords(provider.getTracer('tidemark'), contexts)
const meters = process.env.OTEL_METRICS_EXPORTER === 'otlp' ? sendMetrics(resource) : undefined

// Tidemark's processes end by themselves within ten seconds after these signals.
for (const signal of ['SIGTERM', 'SIGINT'])
  process.once(signal, () => void Promise.allSettled([provider.forceFlush(), meters?.forceFlush()]))

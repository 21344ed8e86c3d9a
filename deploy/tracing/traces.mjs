// Spans of requests, records and what they ask the engines, by OTLP. See docs/tracing.md.
import { register } from 'node:module'
import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { registerInstrumentations } from '@opentelemetry/instrumentation'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { instrumentations } from './instrumentations.mjs'
import { traceRecords } from './records.mjs'
import { RedactingExporter } from './redactingExporter.mjs'

/** Traces from now on. Call it before other modules are loaded. */
export function sendTraces(resource) {
  // Only these two are loaded differently; all other modules load as they do without tracing.
  register('import-in-the-middle/hook.mjs', import.meta.url, { data: { include: ['node:http', 'http', 'ioredis'] } })
  const ratio = new TraceIdRatioBasedSampler(Number(process.env.OTEL_TRACES_SAMPLER_ARG ?? 1))
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
  return provider
}

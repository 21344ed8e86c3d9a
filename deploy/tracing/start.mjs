// Traces, and metrics if asked for, of the process into which this file is imported before everything else, sent to a collector by OTLP.
// See docs/tracing.md.
import { defaultResource, detectResources, envDetector } from '@opentelemetry/resources'
import { sendMetrics } from './metrics.mjs'
import { sendTraces } from './traces.mjs'

const resource = defaultResource().merge(detectResources({ detectors: [envDetector] }))
const providers = []
if (process.env.OTEL_TRACES_EXPORTER !== 'none') providers.push(sendTraces(resource))
if (process.env.OTEL_METRICS_EXPORTER === 'otlp') providers.push(sendMetrics(resource))

// Tidemark's processes end by themselves within ten seconds after these signals.
for (const signal of ['SIGTERM', 'SIGINT'])
  process.once(signal, () => void Promise.allSettled(providers.map((provider) => provider.forceFlush())))

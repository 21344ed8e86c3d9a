import { tracingChannel } from 'node:diagnostics_channel'
import { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'

/** A span links to so many others at most. */
const maxLinks = 128

/**
 * A span for each record of the indexer, from the moment it was read until it is stored, within the producer's trace if the record has
 * a header `traceparent`; and one for each bulk request, within the trace of its first record and linked with those of the others.
 */
export function traceRecords(tracer, contexts) {
  /** The span of the record that a document was made from. */
  const spanOf = new WeakMap()
  const records = tracingChannel('tidemark.record')
  records.subscribe({
    start: (message) => {
      const { topic, partition, offset, headers } = message.record
      const attributes = {
        'messaging.system': 'kafka',
        'messaging.operation.name': 'process',
        'messaging.destination.name': topic,
        'messaging.destination.partition.id': String(partition),
        'messaging.kafka.offset': Number(offset),
      }
      const options = { kind: SpanKind.CONSUMER, attributes }
      message.span = tracer.startSpan(
        `process ${topic}`,
        options,
        propagation.extract(ROOT_CONTEXT, headers, fromHeaders),
      )
      for (const document of message.documents) spanOf.set(document, message.span)
    },
    asyncEnd: ({ span, outcome }) => {
      span.setAttribute('tidemark.outcome', outcome)
      span.end()
    },
  })

  const bulks = tracingChannel('tidemark.bulk')
  bulks.start.bindStore(storageOf(contexts), (message) => {
    const spans = [...new Set(message.documents.map((document) => spanOf.get(document)))].filter((span) =>
      span?.isRecording(),
    )
    const [first, ...others] = spans
    if (first === undefined) return context.active()
    message.span = tracer.startSpan(
      'bulk',
      {
        kind: SpanKind.INTERNAL,
        attributes: {
          'messaging.batch.message_count': spans.length,
          'tidemark.documents': message.documents.length,
          'tidemark.bytes': message.bytes,
        },
        links: others.slice(0, maxLinks).map((span) => ({ context: span.spanContext() })),
      },
      trace.setSpan(ROOT_CONTEXT, first),
    )
    for (const other of others) other.addLink({ context: message.span.spanContext() })
    return trace.setSpan(ROOT_CONTEXT, message.span)
  })
  bulks.subscribe({
    error: ({ span }) => span?.setStatus({ code: SpanStatusCode.ERROR }),
    asyncEnd: ({ span }) => span?.end(),
  })
}

const fromHeaders = {
  get: (headers, wanted) => {
    for (const { name, value } of headers) if (name.equals(Buffer.from(wanted))) return value?.toString()
    return undefined
  },
  keys: (headers) => [...headers].map(({ name }) => name.toString()),
}

/** Channels set a context only through the storage itself, which the context manager keeps to itself. */
const storageOf = (contexts) => contexts._asyncLocalStorage

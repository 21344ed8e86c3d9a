/** What leaves the process. Everything else that instrumentations note may hold keys, search texts, addresses or names of people. */
const kept = new Set([
  'db.operation.name',
  'db.system.name',
  'error.type',
  'http.request.method',
  'http.response.status_code',
  'http.route',
  'messaging.batch.message_count',
  'messaging.destination.name',
  'messaging.destination.partition.id',
  'messaging.kafka.offset',
  'messaging.operation.name',
  'messaging.system',
  'network.protocol.version',
  'server.address',
  'server.port',
  'tidemark.bytes',
  'tidemark.documents',
  'tidemark.outcome',
])

/** Passes spans on with the attributes named above, without events, which quote errors, and without messages of errors. */
export class RedactingExporter {
  #exporter

  constructor(exporter) {
    this.#exporter = exporter
  }

  export(spans, done) {
    this.#exporter.export(spans.map(redacted), done)
  }

  forceFlush() {
    return this.#exporter.forceFlush()
  }

  shutdown() {
    return this.#exporter.shutdown()
  }
}

function redacted(span) {
  const attributes = Object.fromEntries(Object.entries(span.attributes).filter(([name]) => kept.has(name)))
  return Object.create(span, {
    attributes: { value: attributes },
    events: { value: [] },
    links: { value: span.links.map(({ context }) => ({ context, attributes: {} })) },
    status: { value: { code: span.status.code } },
  })
}

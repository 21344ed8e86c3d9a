import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

type Attribute = { readonly key: string; readonly value: Readonly<Record<string, unknown>> }
type SpanLink = { readonly traceId: string; readonly spanId: string }

/** A span as OTLP writes it in JSON. */
export type ReceivedSpan = {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly attributes: readonly Attribute[]
  readonly links?: readonly SpanLink[]
}

type Body = {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly ReceivedSpan[] }[] }[]
}

/** A collector of traces that keeps what it is sent. */
export type TraceReceiver = {
  /** What OTEL_EXPORTER_OTLP_ENDPOINT has to be. */
  readonly url: string
  spans(): readonly ReceivedSpan[]
  /** Every request body so far, as it was sent. */
  text(): string
  close(): Promise<void>
}

export async function startTraceReceiver(): Promise<TraceReceiver> {
  const bodies: string[] = []
  const server = createServer((request, response) => {
    bodyOf(request).then(
      (body) => {
        bodies.push(body)
        response.setHeader('content-type', 'application/json')
        response.end('{}')
      },
      () => response.destroy(),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: () => bodies.flatMap((body) => spansIn(JSON.parse(body) as Body)),
    text: () => bodies.join('\n'),
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

const spansIn = ({ resourceSpans }: Body): ReceivedSpan[] =>
  resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))

/** The value of a span's attribute; undefined when it has none of that name. */
export const attributeOf = ({ attributes }: ReceivedSpan, name: string): unknown =>
  Object.values(attributes.find(({ key }) => key === name)?.value ?? {})[0]

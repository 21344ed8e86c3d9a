import { text } from 'node:stream/consumers'
import { startLocalServer } from './localServer.ts'

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

export type TraceReceiver = Awaited<ReturnType<typeof startTraceReceiver>>

/** A collector of traces that keeps what it is sent. */
export async function startTraceReceiver() {
  const bodies: string[] = []
  const { url, close } = await startLocalServer((request, response) => {
    text(request).then(
      (body) => {
        bodies.push(body)
        response.setHeader('content-type', 'application/json')
        response.end('{}')
      },
      () => response.destroy(),
    )
  })
  return {
    /** What OTEL_EXPORTER_OTLP_ENDPOINT has to be. */
    url,
    close,
    spans: (): readonly ReceivedSpan[] => bodies.flatMap((body) => spansIn(JSON.parse(body) as Body)),
    /** Every request body so far, as it was sent. */
    text: () => bodies.join('\n'),
  }
}

const spansIn = ({ resourceSpans }: Body): ReceivedSpan[] =>
  resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))

/** The value of a span's attribute; undefined when it has none of that name. */
export const attributeOf = ({ attributes }: ReceivedSpan, name: string): unknown =>
  Object.values(attributes.find(({ key }) => key === name)?.value ?? {})[0]

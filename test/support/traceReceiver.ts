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

type Body = {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly ReceivedSpan[] }[] }[]
}

export type TraceReceiver = Awaited<ReturnType<typeof startTraceReceiver>>

/** Starts a trace collector that keeps all spans it receives. */
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
    /** The value for OTEL_EXPORTER_OTLP_ENDPOINT. */
    url,
    close,
    spans: (): readonly ReceivedSpan[] => bodies.flatMap((body) => spansIn(JSON.parse(body) as Body)),
    /** All request bodies so far, raw. */
    text: () => bodies.join('\n'),
  }
}

const spansIn = ({ resourceSpans }: Body): ReceivedSpan[] =>
  resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))

/** The value of a span's attribute; undefined if missing. */
export const attributeOf = ({ attributes }: ReceivedSpan, name: string): unknown =>
  Object.values(attributes.find(({ key }) => key === name)?.value ?? {})[0]

import { pause } from '../../../engines/waiting.ts'
import { type Connection, checked, fire, type HttpRequest } from '../../load.ts'
import type { Answer, Poll, PollingTeam, PollKind, Script } from './script.ts'

/** One script of a team, with its own connection. */
export type Poller = { readonly team: PollingTeam; readonly script: Script }

/** A request that is sent once a second beside the polling teams. */
export type Probe = { readonly name: string; readonly origin: string; readonly request: HttpRequest }

/** Any answer 304 is a kind of its own. */
export const unchanged = '304, not changed'
type AnswerKind = PollKind | typeof unchanged

/** What was answered after the lead-in; latencies by kind of answer, or by name of a probe. */
type Polled = {
  readonly latenciesMs: ReadonlyMap<string, readonly number[]>
  /** Requests of the pollers, and those of them that named an ETag. */
  readonly asked: number
  readonly conditional: number
}

/** Scripts begin in so many groups, one after the other within a second: autocannon sends what is due in a second at its beginning. */
const groups = 20
/** How an empty list begins. An answer that came compressed is longer than one. */
const emptyList = '{"totalDocs":0,'

/**
 * Has every poller and every probe send a request a second for a time. Rejects when one is answered with anything but 200 and 304, or
 * `signal` aborts.
 */
export async function poll(
  origin: string,
  pollers: readonly Poller[],
  probes: readonly Probe[],
  { leadInMs, measuredMs }: { readonly leadInMs: number; readonly measuredMs: number },
  signal: AbortSignal,
): Promise<Polled> {
  const latenciesMs = new Map<string, number[]>()
  let [asked, conditional] = [0, 0]
  const countedFromMs = performance.now() + leadInMs
  const note = (name: string, latencyMs: number, poll?: Poll): void => {
    if (performance.now() < countedFromMs) return
    const known = latenciesMs.get(name)
    if (known === undefined) latenciesMs.set(name, [latencyMs])
    else known.push(latencyMs)
    if (poll !== undefined) asked += 1
    if (poll?.etag !== undefined) conditional += 1
  }
  /** After the share `at` of a second; nothing without connections. */
  const start = async (at: number, to: string, connections: readonly Connection[]): Promise<void> => {
    if (connections.length === 0) return
    await pause(1_000 * at, signal)
    const durationMs = leadInMs + measuredMs - 1_000 * at
    const connectionOf = (index: number): Connection => connections[index] as Connection
    await fire({ origin: to, connections: connections.length, durationMs, perSecond: 1, connectionOf }, signal)
  }
  const polling = Array.from({ length: groups }, (_, group) => {
    const own = pollers.filter((_, place) => place % groups === group)
    return start(
      group / groups,
      origin,
      own.map((poller) => connectionOf(poller, note)),
    )
  })
  const probing = probes.map(({ name, origin: to, request }, place) => {
    const onLatency = (latencyMs: number): void => note(name, latencyMs)
    return start(place / probes.length, to, [{ requests: [checked(request)], onLatency }])
  })
  await Promise.all([...polling, ...probing])
  return { latenciesMs, asked, conditional }
}

/** The connection of one poller: each request follows from what was answered before. */
function connectionOf(
  { team, script }: Poller,
  note: (kind: AnswerKind, latencyMs: number, poll: Poll) => void,
): Connection {
  let current: Poll
  let kind: AnswerKind
  const { accountKey, takesGzip } = team
  const always = { authorization: `Bearer ${accountKey}`, ...(takesGzip && { 'accept-encoding': 'gzip' }) }
  const request: Connection['requests'][number] = {
    setupRequest: (made) => {
      current = script.next()
      const { path, etag } = current
      return { ...made, path, headers: { ...always, ...(etag !== undefined && { 'if-none-match': etag }) } }
    },
    onResponse: (status, body, _context, headers) => {
      if (status !== 200 && status !== 304) throw new Error(`${current.path} answers ${status}: ${body}`)
      kind = status === 304 ? unchanged : current.kind
      script.hear(current, answerOf(status, body, headers ?? {}))
    },
  }
  return { requests: [request], onLatency: (latencyMs) => note(kind, latencyMs, current) }
}

function answerOf(status: number, body: string, headers: Readonly<Record<string, unknown>>): Answer {
  const values = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]))
  return {
    status,
    etag: values.get('etag'),
    watermark: values.get('replica-watermark'),
    isEmpty: body.startsWith(emptyList),
  }
}

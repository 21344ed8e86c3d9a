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
/** Answers of all kinds to the pollers. */
export const anyAnswer = 'any answer'

/** What was answered after the lead-in; latencies by kind of answer, or by name of a probe. */
type Polled = {
  readonly latenciesMs: ReadonlyMap<string, readonly number[]>
  /** Requests of the pollers that named an ETag. */
  readonly conditional: number
}

/** Who asks whom how often. */
export type Polling = {
  readonly origin: string
  readonly pollers: readonly Poller[]
  readonly probes: readonly Probe[]
  /** So many requests are always under way, of the pollers in turn; without it, each poller sends one a second. */
  readonly atOnce?: number
}

/** Scripts begin in so many groups, one after the other within a second: autocannon sends what is due in a second at its beginning. */
const groups = 20
const eachSecond = { perSecond: 1 }
/** How an empty list begins. An answer that came compressed is longer than one. */
const emptyList = '{"totalDocs":0,'

/**
 * Has the pollers send requests for a time, and every probe one a second. Rejects when one is answered with anything but 200 and 304, or
 * `signal` aborts.
 */
export async function poll(
  { origin, pollers, probes, atOnce }: Polling,
  { leadInMs, measuredMs }: { readonly leadInMs: number; readonly measuredMs: number },
  signal: AbortSignal,
): Promise<Polled> {
  const latenciesMs = new Map<string, number[]>()
  let conditional = 0
  const countedFromMs = performance.now() + leadInMs
  const note = (name: string, latencyMs: number): void => {
    if (performance.now() < countedFromMs) return
    const known = latenciesMs.get(name)
    if (known === undefined) latenciesMs.set(name, [latencyMs])
    else known.push(latencyMs)
  }
  const noteAnswer = (kind: AnswerKind, latencyMs: number, { etag }: Poll): void => {
    for (const name of [kind, anyAnswer]) note(name, latencyMs)
    if (etag !== undefined && performance.now() >= countedFromMs) conditional += 1
  }
  /** After the share `at` of a second; nothing without connections. */
  const start = async (at: number, to: string, connections: readonly Connection[], rate = {}): Promise<void> => {
    if (connections.length === 0) return
    await pause(1_000 * at, signal)
    const durationMs = leadInMs + measuredMs - 1_000 * at
    const connectionOf = (index: number): Connection => connections[index] as Connection
    await fire({ origin: to, connections: connections.length, durationMs, ...rate, connectionOf }, signal)
  }
  const connect = (own: readonly Poller[]): Connection => connectionOf(own, noteAnswer)
  const pollEachSecond = (own: readonly Poller[], group: number): Promise<void> => {
    const connections = own.map((poller) => connect([poller]))
    return start(group / groups, origin, connections, eachSecond)
  }
  const polling =
    atOnce === undefined
      ? dealt(pollers, groups).map(pollEachSecond)
      : [start(0, origin, dealt(pollers, atOnce).map(connect))]
  const probing = probes.map(({ name, origin: to, request }, place) => {
    const onLatency = (latencyMs: number): void => note(name, latencyMs)
    return start(place / probes.length, to, [{ requests: [checked(request)], onLatency }], eachSecond)
  })
  await Promise.all([...polling, ...probing])
  return { latenciesMs, conditional }
}

/** The items in so many parts, one item after the other. */
const dealt = <T>(items: readonly T[], parts: number): T[][] =>
  Array.from({ length: parts }, (_, part) => items.filter((_, place) => place % parts === part))

/** The connection of pollers that ask in turn: each request follows from what its poller was answered before. */
function connectionOf(
  pollers: readonly Poller[],
  note: (kind: AnswerKind, latencyMs: number, poll: Poll) => void,
): Connection {
  let current: Poll
  let kind: AnswerKind
  const requestOf = ({ team: { accountKey, takesGzip }, script }: Poller): Connection['requests'][number] => {
    const always = { authorization: `Bearer ${accountKey}`, ...(takesGzip && { 'accept-encoding': 'gzip' }) }
    return {
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
  }
  return { requests: pollers.map(requestOf), onLatency: (latencyMs) => note(kind, latencyMs, current) }
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

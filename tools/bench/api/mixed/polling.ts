import { pause } from '../../../engines/waiting.ts'
import { type Connection, checked, fire, type HttpRequest } from '../../load.ts'
import type { Answer, Poll, PollingTeam, PollKind, Script } from './script.ts'

/** One script of a team, with its own connection. */
export type Poller = { readonly team: PollingTeam; readonly script: Script }

/** A request that is sent once a second beside the polling teams. */
export type Probe = { readonly name: string; readonly origin: string; readonly request: HttpRequest }

/** Any answer 304 is a kind of its own. */
export const unchanged = '304, not changed'
export type AnswerKind = PollKind | typeof unchanged

/** What was answered after the lead-in; latencies by kind of answer, or by name of a probe. */
export type Polled = {
  readonly latenciesMs: ReadonlyMap<string, readonly number[]>
  readonly conditional: number
  readonly asked: number
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
  const counts = { asked: 0, conditional: 0 }
  const beganMs = performance.now()
  const isCounted = (): boolean => performance.now() - beganMs >= leadInMs
  const note = (name: string, latencyMs: number): void => {
    if (isCounted()) latenciesMs.set(name, [...(latenciesMs.get(name) ?? []), latencyMs])
  }
  const onPoll = ({ etag }: Poll): void => {
    if (!isCounted()) return
    counts.asked += 1
    if (etag !== undefined) counts.conditional += 1
  }
  const start = async (afterMs: number, to: string, connections: readonly Connection[]): Promise<void> => {
    await pause(afterMs, signal)
    const durationMs = leadInMs + measuredMs - afterMs
    const connectionOf = (index: number): Connection => connections[index] as Connection
    await fire({ origin: to, connections: connections.length, durationMs, perSecond: 1, connectionOf }, signal)
  }
  const polling = Array.from({ length: groups }, (_, group) => {
    const own = pollers.filter((_, at) => at % groups === group)
    return own.length === 0
      ? undefined
      : start(
          (1_000 * group) / groups,
          origin,
          own.map((poller) => connectionOf(poller, { onPoll, note })),
        )
  })
  const probing = probes.map(({ name, origin: to, request }, place) =>
    start((1_000 * place) / probes.length, to, [
      { requests: [checked(request)], onLatency: (latencyMs) => note(name, latencyMs) },
    ]),
  )
  await Promise.all([...polling, ...probing])
  return { latenciesMs, ...counts }
}

/** The connection of one poller: each request follows from what was answered before. */
function connectionOf(
  { team, script }: Poller,
  {
    onPoll,
    note,
  }: { readonly onPoll: (poll: Poll) => void; readonly note: (kind: AnswerKind, latencyMs: number) => void },
): Connection {
  let current: Poll
  let kind: AnswerKind
  const always = {
    authorization: `Bearer ${team.accountKey}`,
    ...(team.takesGzip && { 'accept-encoding': 'gzip' }),
  }
  return {
    requests: [
      {
        setupRequest: (request) => {
          current = script.next()
          const { path, etag } = current
          return { ...request, path, headers: { ...always, ...(etag !== undefined && { 'if-none-match': etag }) } }
        },
        onResponse: (status, body, _context, headers) => {
          const answer = answerOf(status, body, headers ?? {})
          if (status !== 200 && status !== 304) throw new Error(`${current.path} answers ${status}: ${body}`)
          onPoll(current)
          kind = status === 304 ? unchanged : current.kind
          script.hear(current, answer)
        },
      },
    ],
    onLatency: (latencyMs) => note(kind, latencyMs),
  }
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

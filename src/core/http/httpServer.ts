import { once } from 'node:events'
import { type IncomingMessage, type RequestListener, Server, type ServerOptions, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Refuse, reasonOf, render } from './clientErrors.ts'
import { type Reading, readSince, sentOn, usualPatienceMs } from './slowReaders.ts'

const stopDeadlineMs = 6_000
const maxLingerMs = 1_000
/** Without traffic for this long during a request, a connection is closed, unless bytes wait for the client (`slowReaders.ts`). */
export const stallMs = 60_000
/** Each check counts exactly this time against slow readers, even if it runs late: while a machine is suspended, no client can read. */
const slowReaderCheckMs = 1_000
/** Longer than usual load balancers use an idle connection: otherwise a request could arrive while the server closes it. */
const keepAliveMs = 65_000
const maxConnections = 20_000
/** A longer header of `preferences` is ignored: libraries may parse it in quadratic time. */
const maxPreferenceBytes = 1_024
const preferences = ['accept', 'accept-encoding', 'accept-language', 'prefer'] as const
const maxHostBytes = 260

/** Port 0: any free one. No host: all interfaces. */
export type ListenAddress = { readonly port: number; readonly host?: string | undefined }

/**
 * Serves requests by `listener`. Rejects if it cannot listen. `refuse` answers client errors, which never reach `listener`. `patienceMs`: how far a slow reader
 * may be behind (slowReaders.ts).
 */
export async function serve(
  listener: RequestListener,
  address: ListenAddress,
  refuse: Refuse,
  patienceMs = () => usualPatienceMs,
): Promise<ResettingServer> {
  const latest = new WeakMap<Duplex, Exchange>()
  const handle: RequestListener = (request, response) => {
    const { socket } = request
    latest.set(socket, { request, response })
    response.once('close', () => {
      if (latest.get(socket)?.response === response) latest.delete(socket)
    })
    // Node drops what follows a request with `Upgrade`: the client must not wait for answers.
    if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false
    for (const name of preferences)
      if ((request.headers[name]?.length ?? 0) > maxPreferenceBytes) delete request.headers[name]
    if (namesOneHost(request)) return listener(request, response)
    const { status, headers, body } = refuse('host')
    response.writeHead(status, { ...headers }).end(body)
  }
  const server = new ResettingServer({ keepAliveTimeout: keepAliveMs, requireHostHeader: false }, handle)
  server.setTimeout(stallMs)
  server.maxConnections = maxConnections
  server.on('clientError', (error, socket) => {
    const reason = reasonOf(error)
    if (reason === undefined) socket.destroy()
    else hangUp(socket, latest.get(socket), () => render(refuse(reason)))
  })
  server.on('connect', (_request, socket) => {
    socket.on('error', () => undefined).once('finish', () => socket.destroy())
    hangUp(socket, latest.get(socket), () => render(refuse('method')))
  })
  // Node would answer 417 to an unknown `Expect`.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  server.listen(address)
  await once(server, 'listening')
  const slowReaderChecks = setInterval(
    () => server.resetSlowReaders(slowReaderCheckMs, patienceMs()),
    slowReaderCheckMs,
  )
  server.once('close', () => clearInterval(slowReaderChecks))
  return server
}

type Exchange = { readonly request: IncomingMessage; readonly response: ServerResponse }

/** Ends a connection with an error answer, after the answers to its earlier requests. */
function hangUp(socket: Duplex, last: Exchange | undefined, renderAnswer: () => string): void {
  const end = (): unknown => (socket.writable ? socket.end(renderAnswer()) : socket.destroy())
  if (last?.request.complete) last.response.once('close', end)
  // The answer to a request with a malformed body has begun: the client would take the error answer for its rest.
  else if (last?.response.headersSent) socket.destroy()
  else end()
}

const hostPattern = /^(?<name>\[[\da-f:.]+\]|[^\s/?#@[\]\\:]*)(?::\d*)?$/i

/** In lower case, without port; undefined if malformed. */
export const hostnameOf = (host: string): string | undefined => hostPattern.exec(host)?.groups?.['name']?.toLowerCase()

/** HTTP/1.0 needs no `Host`. */
function namesOneHost({ httpVersion, headersDistinct }: IncomingMessage): boolean {
  const [host, ...more] = headersDistinct['host'] ?? []
  if (host === undefined) return Number(httpVersion) < 1.1
  return more.length === 0 && host.length <= maxHostBytes && hostnameOf(host) !== undefined
}

export const portOf = (server: Server): number => (server.address() as AddressInfo).port

/**
 * Stops a server:
 * 1. From now on, answers have `Connection: close`.
 * 2. After a drain (`drainMs` > 0), waits up to a second for requests on idle connections.
 * 3. Accepts no more connections, and resolves once all requests are answered. Answers that are unfinished six seconds after the call are cut off.
 */
export async function stopServing(server: ResettingServer, drainMs = 0): Promise<void> {
  const deadline = setTimeout(() => server.closeAllConnections(), stopDeadlineMs)
  server.endKeepAlive()
  // If the server closed a connection on which a client is sending, the client would not know whether its request was served.
  if (drainMs > 0) await sleep(Math.min(drainMs, maxLingerMs))
  // Connections stay open after answers without `Connection: close`, and server.close() would wait for them.
  const idle = setInterval(() => server.closeIdleConnections(), 50)
  await new Promise<void>((resolve) => server.close(() => resolve()))
  clearTimeout(deadline)
  clearInterval(idle)
}

/** For HTTP/1.0 by TCP RST: an orderly close may mark the end of the body. */
export function cutOff({ req }: ServerResponse): void {
  if (req.httpVersion === '1.0') req.socket.resetAndDestroy()
  else req.socket.destroy()
}

/** Cuts off unfinished answers, and resets slow readers after their response has emitted `slow`. */
export class ResettingServer extends Server {
  readonly #unfinished = new Set<ServerResponse>()
  #readings: ReadonlyMap<Socket, Reading> = new Map()
  #keepsAlive = true

  constructor(options: ServerOptions, listener: RequestListener) {
    super(options)
    this.on('request', (_request, response) => {
      this.#unfinished.add(response)
      if (!this.#keepsAlive) response.shouldKeepAlive = false
      response.once('close', () => this.#unfinished.delete(response))
      // While bytes wait for the client, `resetSlowReaders` decides.
      response.on('timeout', () => sentOn(response.req.socket).waitingBytes === 0 && cutOff(response))
    })
    this.on('request', listener)
  }

  /** `elapsedMs`: since the last call. */
  resetSlowReaders(elapsedMs: number, patienceMs: number): void {
    // Of several answers on a connection, the first is being sent. In a map, the last value of a key wins, hence `reverse`.
    const first = new Map([...this.#unfinished].reverse().map((response) => [response.req.socket, response]))
    const readings = new Map<Socket, Reading>()
    for (const [socket, response] of first) {
      const reading = readSince(this.#readings.get(socket), sentOn(socket), elapsedMs)
      if (reading.behindMs <= patienceMs) readings.set(socket, reading)
      else {
        response.emit('slow')
        socket.resetAndDestroy()
      }
    }
    this.#readings = readings
  }

  endKeepAlive(): void {
    this.#keepsAlive = false
    for (const response of this.#unfinished) response.shouldKeepAlive = false
  }

  override closeAllConnections(): void {
    for (const response of this.#unfinished) cutOff(response)
    super.closeAllConnections()
  }
}

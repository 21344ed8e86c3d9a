import { once } from 'node:events'
import { type IncomingMessage, type RequestListener, Server, type ServerOptions, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Refuse, reasonOf, render } from './clientErrors.ts'

const stopDeadlineMs = 6_000
const maxLingerMs = 1_000
/** A client that neither sends nor reads for so long during a request is disconnected. */
export const stallMs = 60_000
/** Longer than load balancers keep their idle connections, so that none is closed under a request. */
const keepAliveMs = 65_000
/** Connections above this number are closed at once. */
const maxConnections = 20_000
/** A header that only says what a client prefers counts as not sent when it is longer: parsers of libraries may take quadratic time. */
const maxPreferenceBytes = 1_024
const preferences = ['accept', 'accept-encoding', 'accept-language', 'prefer'] as const
/** A name has 253 characters at most, a port five. */
const maxHostBytes = 260

/** Where a server listens. Port 0 means any free port, no host means all interfaces. */
export type ListenAddress = { readonly port: number; readonly host?: string | undefined }

/** Serves `listener`. Rejects when it cannot listen on the address. `refuse` answers client errors, which never become requests. */
export async function serve(
  listener: RequestListener,
  address: ListenAddress,
  refuse: Refuse,
): Promise<ResettingServer> {
  const last = new WeakMap<Duplex, Exchange>()
  const handle: RequestListener = (request, response) => {
    const { socket } = request
    last.set(socket, { request, response })
    response.once('close', () => {
      if (last.get(socket)?.response === response) last.delete(socket)
    })
    // Node drops what a client sent after a request with `Upgrade`; closing the connection tells the client.
    if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false
    dropLongPreferences(request)
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
    else hangUp(socket, last.get(socket), () => render(refuse(reason)))
  })
  server.on('connect', (_request, socket) => {
    socket.on('error', () => undefined).once('finish', () => socket.destroy())
    hangUp(socket, last.get(socket), () => render(refuse('method')))
  })
  // An unknown `Expect` is ignored.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  server.listen(address)
  await once(server, 'listening')
  return server
}

type Exchange = { readonly request: IncomingMessage; readonly response: ServerResponse }

/** Ends a connection with an answer, after the answers to earlier requests. */
function hangUp(socket: Duplex, last: Exchange | undefined, renderAnswer: () => string): void {
  if (last === undefined) endWith(socket, renderAnswer)
  else if (last.request.complete) last.response.once('close', () => endWith(socket, renderAnswer))
  // The body of the last request is malformed, and its answer has begun: a second answer would be taken for its end.
  else if (last.response.headersSent) socket.destroy()
  else endWith(socket, renderAnswer)
}

function endWith(socket: Duplex, renderAnswer: () => string): void {
  if (socket.writable) socket.end(renderAnswer())
  else socket.destroy()
}

function dropLongPreferences({ headers }: IncomingMessage): void {
  for (const name of preferences) if ((headers[name]?.length ?? 0) > maxPreferenceBytes) delete headers[name]
}

const hostPattern = /^(?<name>\[[\da-f:.]+\]|[^\s/?#@[\]\\:]*)(?::\d*)?$/i

/** The name or address in a `Host` header, in lower case; undefined when the header is malformed. */
export const hostnameOf = (host: string): string | undefined => hostPattern.exec(host)?.groups?.['name']?.toLowerCase()

function namesOneHost({ httpVersion, headersDistinct }: IncomingMessage): boolean {
  const [host, ...more] = headersDistinct['host'] ?? []
  if (host === undefined) return Number(httpVersion) < 1.1
  return more.length === 0 && host.length <= maxHostBytes && hostnameOf(host) !== undefined
}

/** The port on which a server listens. */
export const portOf = (server: Server): number => (server.address() as AddressInfo).port

/**
 * Ends every connection with its next answer; of a process that drains, idle ones a second later. Then stops accepting connections, lets
 * running requests finish, and cuts off those that take longer than six seconds in all.
 */
export async function stopServing(server: ResettingServer, drainMs = 0): Promise<void> {
  const deadline = setTimeout(() => server.closeAllConnections(), stopDeadlineMs)
  server.endKeepAlive()
  // A client may be sending a request on an idle connection: it would have to guess whether that was served.
  if (drainMs > 0) await sleep(Math.min(drainMs, maxLingerMs))
  // A kept-alive connection stays open after its answer, and server.close() waits for it.
  const idle = setInterval(() => server.closeIdleConnections(), 50)
  await new Promise<void>((resolve) => server.close(() => resolve()))
  clearTimeout(deadline)
  clearInterval(idle)
}

/**
 * Closes the connection of an unfinished answer. In HTTP/1.0 the end of the connection may end an answer, so a client would take
 * the part for the whole: there the connection is reset (TCP RST).
 */
export function cutOff({ req }: ServerResponse): void {
  if (req.httpVersion === '1.0') req.socket.resetAndDestroy()
  else req.socket.destroy()
}

/** Node's HTTP server, but answers are cut off where Node would close their connections: at a timeout, and when it stops. */
export class ResettingServer extends Server {
  readonly #unfinished = new Set<ServerResponse>()
  #keepsAlive = true

  constructor(options: ServerOptions, listener: RequestListener) {
    super(options)
    this.on('request', (_request, response) => {
      this.#unfinished.add(response)
      if (!this.#keepsAlive) response.shouldKeepAlive = false
      response.once('close', () => this.#unfinished.delete(response))
      response.once('timeout', () => cutOff(response))
    })
    this.on('request', listener)
  }

  /** From now on an answer says `Connection: close`, unless it has begun. */
  endKeepAlive(): void {
    this.#keepsAlive = false
    for (const response of this.#unfinished) response.shouldKeepAlive = false
  }

  override closeAllConnections(): void {
    for (const response of this.#unfinished) cutOff(response)
    super.closeAllConnections()
  }
}

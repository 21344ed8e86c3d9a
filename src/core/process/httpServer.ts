import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Refuse, reasonOf, render } from './clientErrors.ts'
import { ResettingServer } from './resettingServer.ts'

const stopDeadlineMs = 6_000
/** Whoever neither sends nor reads for so long, in the middle of an exchange, is let go. */
const stallMs = 60_000
/** Longer than load balancers keep their idle connections, so that none is closed under a request. */
const keepAliveMs = 65_000
/** More are closed at once. */
const maxConnections = 20_000

/** Where a server listens: on a free port for 0, on all interfaces without a host. */
export type ListenAddress = { readonly port: number; readonly host?: string | undefined }

/** Serves `listener`. Rejects when the address cannot be had. `refuse` answers what never becomes a request. */
export async function serve(listener: RequestListener, address: ListenAddress, refuse: Refuse): Promise<Server> {
  const last = new WeakMap<Duplex, Exchange>()
  const handle: RequestListener = (request, response) => {
    const { socket } = request
    last.set(socket, { request, response })
    response.once('close', () => {
      if (last.get(socket)?.response === response) last.delete(socket)
    })
    // Node drops what came with a request that would change the protocol; nobody shall wait for its answer.
    if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false
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
  // An expectation we do not know changes nothing about the answer.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  await listen(server, address)
  return server
}

function listen(server: Server, address: ListenAddress): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(address, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

/** Says why this machine cannot listen on `host`, on whatever port; undefined when it can. */
export async function listeningProblem(host: string | undefined): Promise<string | undefined> {
  const server = createServer()
  try {
    await listen(server, { port: 0, host })
    server.close()
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

type Exchange = { readonly request: IncomingMessage; readonly response: ServerResponse }

/** Ends a connection with an answer, behind the answers to the requests that came before. */
function hangUp(socket: Duplex, last: Exchange | undefined, renderAnswer: () => string): void {
  if (last === undefined) endWith(socket, renderAnswer)
  else if (last.request.complete) last.response.once('close', () => endWith(socket, renderAnswer))
  // It is the body of the last request that cannot be read, and its answer that must not be mixed up with this one.
  else if (last.response.headersSent) socket.destroy()
  else endWith(socket, renderAnswer)
}

function endWith(socket: Duplex, renderAnswer: () => string): void {
  if (socket.writable) socket.end(renderAnswer())
  else socket.destroy()
}

const hostPattern = /^(?<name>\[[\da-f:.]+\]|[^\s/?#@[\]\\:]*)(?::\d*)?$/i

/** The name or address in a `Host` header, in lower case; undefined when it is none. */
export const hostnameOf = (host: string): string | undefined => hostPattern.exec(host)?.groups?.['name']?.toLowerCase()

function namesOneHost({ httpVersion, headersDistinct }: IncomingMessage): boolean {
  const [host, ...more] = headersDistinct['host'] ?? []
  if (host === undefined) return Number(httpVersion) < 1.1
  return more.length === 0 && hostnameOf(host) !== undefined
}

/** The port that a listening server has. */
export const portOf = (server: Server): number => (server.address() as AddressInfo).port

/** Stops accepting, lets running requests finish, and cuts those that take too long. */
export async function stopServing(server: Server): Promise<void> {
  const deadline = setTimeout(() => server.closeAllConnections(), stopDeadlineMs)
  // A kept-alive connection outlasts its answer, and server.close() waits for it.
  const idle = setInterval(() => server.closeIdleConnections(), 50)
  await new Promise<void>((resolve) => server.close(() => resolve()))
  clearTimeout(deadline)
  clearInterval(idle)
}

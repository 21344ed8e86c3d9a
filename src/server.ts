import type { RequestListener, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { ResettingServer } from './resettingServer.ts'

const stopDeadlineMs = 6_000
/** Whoever neither sends nor reads for so long, in the middle of an exchange, is let go. */
const stallMs = 60_000
/** Longer than load balancers keep their idle connections, so that none is closed under a request. */
const keepAliveMs = 65_000
/** More are closed at once. */
const maxConnections = 20_000

/** Why Node's HTTP parser gave up on a request, and the bytes it gave up on. */
export type ParseError = Error & { readonly code?: string; readonly rawPacket?: Buffer }

/**
 * Serves `listener` on `port`; 0 takes a free one. Rejects when the port cannot be had. `refuseUnreadable` answers what never
 * becomes a request.
 */
export async function serve(
  listener: RequestListener,
  port: number,
  refuseUnreadable: (error: ParseError, socket: Duplex) => void,
): Promise<Server> {
  const server = new ResettingServer({ keepAliveTimeout: keepAliveMs }, listener)
  server.setTimeout(stallMs)
  server.maxConnections = maxConnections
  server.on('clientError', refuseUnreadable)
  // An expectation we do not know changes nothing about the answer.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, () => {
      server.off('error', reject)
      resolve()
    })
  })
  return server
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

import { type RequestListener, Server, type ServerOptions, type ServerResponse } from 'node:http'

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

  constructor(options: ServerOptions, listener: RequestListener) {
    super(options)
    this.on('request', (_request, response) => {
      this.#unfinished.add(response)
      response.once('close', () => this.#unfinished.delete(response))
      response.once('timeout', () => cutOff(response))
    })
    this.on('request', listener)
  }

  override closeAllConnections(): void {
    for (const response of this.#unfinished) cutOff(response)
    super.closeAllConnections()
  }
}

import { type RequestListener, Server, type ServerOptions, type ServerResponse } from 'node:http'

/**
 * Closes the connection of an answer that has not come to its end. Over HTTP/1.0 the end of an answer is that of its connection, so
 * that a part would pass for the whole: there the connection is reset (TCP RST).
 */
export function cutOff({ req }: ServerResponse): void {
  if (req.httpVersion === '1.0') req.socket.resetAndDestroy()
  else req.socket.destroy()
}

/** Node's HTTP server, which cuts answers off where Node would close their connections: when nobody reads on, and at the end. */
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

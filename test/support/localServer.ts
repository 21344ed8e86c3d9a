import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Server } from 'node:net'

/** Lets a server listen on a free port, by default of loopback, and returns the port. */
export async function listenLocally(server: Server, host = '127.0.0.1'): Promise<number> {
  await once(server.listen(0, host), 'listening')
  return (server.address() as AddressInfo).port
}

type Listener = (request: IncomingMessage, response: ServerResponse) => unknown

/** An HTTP server, by default on loopback; closing it ends its connections. */
export async function startLocalServer(listener: Listener, host?: string) {
  const server = createServer(listener)
  const port = await listenLocally(server, host)
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    close: async (): Promise<void> => {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Server } from 'node:net'

/** Lets a server listen on a free port of loopback, and returns the port. */
export async function listenLocally(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}

/** An HTTP server on loopback; closing it ends its connections. */
export async function startLocalServer(listener: (request: IncomingMessage, response: ServerResponse) => unknown) {
  const server = createServer(listener)
  const port = await listenLocally(server)
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

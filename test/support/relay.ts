import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { listenLocally } from './localServer.ts'

export type Relay = Awaited<ReturnType<typeof startRelay>>

/**
 * Starts a TCP proxy that makes an engine unreachable for its clients. `address`: such as `redis://host:port`; by default, one where
 * nothing listens.
 */
export async function startRelay(address = 'tcp://127.0.0.1:1') {
  const { host, hostname, port } = new URL(address)
  let isCut = false
  const sockets = new Set<Socket>()
  const lead = (from: Socket, to: Socket): void => {
    sockets.add(from)
    from.on('error', () => from.destroy())
    from.once('close', () => {
      sockets.delete(from)
      to.destroy()
    })
    from.pipe(to)
  }
  let accepted = 0
  const server = createServer((near) => {
    accepted++
    if (isCut) {
      near.on('error', () => near.destroy()).destroy()
      return
    }
    const far = connect(Number(port), hostname)
    lead(near, far)
    lead(far, near)
  })
  const own = await listenLocally(server)
  /** Closes all connections and accepts no more. */
  const cut = (): void => {
    isCut = true
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: own,
    url: address.replace(host, `127.0.0.1:${own}`),
    cut,
    restore: (): void => {
      isCut = false
    },
    /** The number of connections accepted so far. */
    accepted: () => accepted,
    close: async (): Promise<void> => {
      cut()
      server.close()
      await once(server, 'close')
    },
  }
}

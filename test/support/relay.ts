import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A port that leads to another one, and can be cut: to its clients, an engine that goes away and comes back. */
export type Relay = {
  readonly port: number
  /** Ends all connections and accepts no more. */
  cut(): void
  restore(): void
  /** How many connections have come so far. */
  accepted(): number
  close(): Promise<void>
}

export async function startRelay(host: string, port: number): Promise<Relay> {
  let isCut = false
  const sockets = new Set<Socket>()
  const keep = (socket: Socket): void => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.once('close', () => sockets.delete(socket))
  }
  let accepted = 0
  const server = createServer((near) => {
    accepted++
    keep(near)
    if (isCut) {
      near.destroy()
      return
    }
    const far = connect(port, host)
    keep(far)
    near.pipe(far).pipe(near)
    near.once('close', () => far.destroy())
    far.once('close', () => near.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = (): void => {
    isCut = true
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    restore: () => {
      isCut = false
    },
    accepted: () => accepted,
    close: async () => {
      cut()
      server.close()
      await once(server, 'close')
    },
  }
}

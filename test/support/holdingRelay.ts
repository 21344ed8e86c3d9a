import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A port that leads to another one, and can hold what passes: to its clients, an engine that does not answer for a while. */
export type HoldingRelay = {
  readonly port: number
  /** Keeps connections and lets nothing through. */
  hold(): void
  release(): void
  close(): Promise<void>
}

export async function startHoldingRelay(target: URL): Promise<HoldingRelay> {
  let isHeld = false
  const sockets = new Set<Socket>()
  const pass = (from: Socket, to: Socket): void => {
    sockets.add(from)
    from.on('error', () => from.destroy())
    from.once('close', () => {
      sockets.delete(from)
      to.destroy()
    })
    from.on('data', (bytes) => to.write(bytes))
    if (isHeld) from.pause()
  }
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    pass(near, far)
    pass(far, near)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    hold: () => {
      isHeld = true
      for (const socket of sockets) socket.pause()
    },
    release: () => {
      isHeld = false
      for (const socket of sockets) socket.resume()
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

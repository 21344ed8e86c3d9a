import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** Kept connections, each of which has been answered once. */
export type IdleConnections = {
  /** Opens what is missing of so many, a few at once. Rejects when one is not answered as expected. */
  reach(count: number, signal: AbortSignal): Promise<void>
  /** How many are still open. */
  open(): number
  close(): Promise<void>
}

const atOnce = 50
const deadlineMs = 10_000
const headersEnd = '\r\n\r\n'

/** Asks `request`, a whole GET as it stands on the wire, once on each connection; its answer is `status` without a body. */
export function idleConnections(port: number, request: string, status: number): IdleConnections {
  const sockets = new Set<Socket>()
  let opened = 0
  const openOne = async (): Promise<void> => {
    const socket = connectTo(port)
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    await answered(socket, request, status)
  }
  return {
    reach: async (count, signal) => {
      const openSome = async (): Promise<void> => {
        while (opened < count) {
          signal.throwIfAborted()
          opened += 1
          await openOne()
        }
      }
      await Promise.all(Array.from({ length: atOnce }, openSome))
    },
    open: () => sockets.size,
    close: async () => {
      const closed = [...sockets].map((socket) => once(socket, 'close'))
      for (const socket of sockets) socket.destroy()
      await Promise.all(closed)
    },
  }
}

/** Asks so many times over few connections, which are closed. */
export async function askRepeatedly(
  port: number,
  { request, status, times }: { request: string; status: number; times: number },
  signal: AbortSignal,
): Promise<void> {
  const askSome = async (): Promise<void> => {
    const socket = connectTo(port)
    try {
      for (let turn = 0; turn < times / atOnce; turn++) {
        signal.throwIfAborted()
        await answered(socket, request, status)
      }
    } finally {
      socket.destroy()
    }
  }
  await Promise.all(Array.from({ length: atOnce }, askSome))
}

/** Whatever happens to it while nobody waits for an answer shows in its being closed. */
const connectTo = (port: number): Socket =>
  connect({ host: '127.0.0.1', port })
    .on('error', () => undefined)
    .resume()

async function answered(socket: Socket, request: string, status: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let text = ''
  const hear = (chunk: Buffer): void => {
    text += chunk.toString('latin1')
    if (!text.endsWith(headersEnd)) return
    if (text.startsWith(`HTTP/1.1 ${status} `)) resolve()
    else reject(new Error(`an idle connection is answered ${text.slice(0, text.indexOf('\r\n'))}`))
  }
  const end = (): void => reject(new Error('a connection was closed before its answer'))
  const late = (): void => reject(new Error(`a connection is not answered within ${deadlineMs / 1_000} s`))
  const timer = setTimeout(late, deadlineMs)
  socket.on('data', hear).once('close', end).once('error', reject)
  socket.write(request)
  try {
    await promise
  } finally {
    clearTimeout(timer)
    socket.off('data', hear).off('close', end).off('error', reject)
  }
}

import { connect, type Socket } from 'node:net'

/** The bytes that a server sends until its connection ends, and how it ends: `end`, or the code of an error. */
export function readToEnd(socket: Socket): Promise<{ readonly received: string; readonly end: string }> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  return new Promise((resolve) => {
    const endWith = (end: string): void => {
      socket.destroy()
      resolve({ received: Buffer.concat(chunks).toString('utf8'), end })
    }
    socket.once('end', () => endWith('end'))
    socket.once('error', ({ code = '' }: NodeJS.ErrnoException) => endWith(code))
  })
}

/** Sends raw bytes to a server, and reads until it closes the connection. Rejects when it resets the connection. */
export async function sendRaw(port: number, bytes: string | Buffer): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(bytes)
  const { received, end } = await readToEnd(socket)
  if (end !== 'end') throw new Error(`the connection has ended with ${end}`)
  return received
}

/** The statuses of the HTTP responses that `sendRaw` read, in order. */
export const statusesIn = (read: string): number[] =>
  [...read.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))

import { once } from 'node:events'
import { connect } from 'node:net'

/** Sends raw bytes to a server, and reads until it closes the connection. Rejects when it resets the connection. */
export async function sendRaw(port: number, bytes: string | Buffer): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.write(bytes)
  await once(socket, 'close')
  return Buffer.concat(chunks).toString('utf8')
}

/** The statuses of the HTTP responses that `sendRaw` read, in order. */
export const statusesIn = (read: string): number[] =>
  [...read.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))

import { Agent, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { pipeline } from 'node:stream'
import { startLocalServer } from './localServer.ts'

/**
 * Starts a round-robin load balancer for GETs. Like common ones, it keeps connections open; when one is refused or closed before an
 * answer, it tries the next process, and answers 502 when none is left. An answer that is cut off is cut off for the client, too.
 */
export async function startBalancer() {
  const agent = new Agent({ keepAlive: true })
  let targets: readonly string[] = []
  let turn = 0
  const passed = { requests: 0, bytes: 0 }

  const forward = (incoming: IncomingMessage, answer: ServerResponse, [target, ...others]: readonly string[]): void => {
    if (target === undefined) {
      answer.writeHead(502).end('{}')
      return
    }
    const outgoing = request(target + incoming.url, { agent, headers: incoming.headers })
    outgoing.on('response', (received) => {
      answer.writeHead(received.statusCode ?? 502, received.headers)
      received.on('data', (chunk: Buffer) => {
        passed.bytes += chunk.length
      })
      pipeline(received, answer, () => undefined)
    })
    outgoing.on('error', () => {
      if (!answer.headersSent) forward(incoming, answer, others)
    })
    outgoing.end()
  }
  const { url, close } = await startLocalServer((incoming, answer) => {
    passed.requests++
    const first = turn++ % Math.max(1, targets.length)
    forward(incoming, answer, [...targets.slice(first), ...targets.slice(0, first)])
  })
  return {
    url,
    /** The number of requests so far, and the bytes of their bodies. */
    passed: passed as Readonly<typeof passed>,
    /** Sets the URLs of the processes. */
    leadTo: (urls: readonly string[]): void => {
      targets = urls
    },
    close: async (): Promise<void> => {
      await close()
      agent.destroy()
    },
  }
}

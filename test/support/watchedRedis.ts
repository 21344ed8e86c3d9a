import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { Gate } from './gate.ts'

/** The real Redis behind a port where a command can be stopped on its way, or its answer on the way back. */
export type WatchedRedis = {
  readonly url: string
  /**
   * Stops the first command that contains `text` and that `when` finds due: before Redis sees it, or after Redis has carried
   * it out and before the client hears of it. A command that is held while its client goes away never reaches Redis.
   */
  hold(text: string, side: 'command' | 'answer', when?: () => Promise<boolean>): Gate
  close(): Promise<void>
}

type Watch = {
  readonly text: string
  readonly side: 'command' | 'answer'
  readonly when: () => Promise<boolean>
  readonly gate: Gate
}

export async function startWatchedRedis(target: string): Promise<WatchedRedis> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let watch: Watch | undefined
  const foundDue = async (): Promise<Watch | undefined> => {
    const named = watch
    if (named === undefined || !(await named.when())) return undefined
    watch = undefined
    return named
  }

  const server = createServer((near) => {
    const far = connect(Number(port), hostname)
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
      socket.once('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
    let answersWaitAt: Gate | undefined
    const contains = scanner()
    pump(near, far, async (chunk) => {
      const found = contains(chunk, watch?.text) ? await foundDue() : undefined
      if (found?.side === 'command') await found.gate.pass()
      if (found?.side === 'answer') answersWaitAt = found.gate
    })
    pump(far, near, async () => {
      await answersWaitAt?.pass()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hold: (text, side, when = async () => true) => {
      const gate = new Gate()
      watch = { text, side, when, gate }
      return gate
    },
    close: async () => {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

/** Passes on chunk after chunk, each once `pass` has let it through and while the side it came from is there. */
function pump(from: Socket, to: Socket, pass: (chunk: Buffer) => Promise<void>): void {
  const run = async (): Promise<void> => {
    for await (const chunk of from as AsyncIterable<Buffer>) {
      await pass(chunk)
      if (from.destroyed) return
      to.write(chunk)
    }
  }
  run().catch(() => from.destroy())
}

/** Says whether a chunk, with what came before it, contains a text; a command may come in two pieces. */
function scanner(): (chunk: Buffer, text: string | undefined) => boolean {
  let before = ''
  return (chunk, text) => {
    const all = before + chunk.toString('latin1')
    const isThere = text !== undefined && all.includes(text)
    before = text === undefined || isThere ? '' : all.slice(1 - text.length)
    return isThere
  }
}

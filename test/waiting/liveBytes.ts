import { once } from 'node:events'
import type { Program } from '../support/programs.ts'

const timeoutMs = 30_000

/** What lives in the heap and outside of it after a garbage collection, of a program that was started with `--inspect=127.0.0.1:0`. */
export async function liveBytes(program: Program): Promise<number> {
  const url = /ws:\/\/\S+/.exec(program.log())?.[0]
  if (url === undefined) throw new Error('the program listens for no inspector')
  const socket = new WebSocket(url)
  const signal = AbortSignal.timeout(timeoutMs)
  try {
    await once(socket, 'open', { signal })
    await call(socket, 1, 'HeapProfiler.collectGarbage', {}, signal)
    const expression = 'process.memoryUsage().heapUsed + process.memoryUsage().external'
    const { result } = await call(socket, 2, 'Runtime.evaluate', { expression, returnByValue: true }, signal)
    return Number((result as { readonly value: number }).value)
  } finally {
    socket.close()
  }
}

/** Calls a method of the inspector; resolves with its result. */
async function call(
  socket: WebSocket,
  id: number,
  method: string,
  params: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>>> {
  socket.send(JSON.stringify({ id, method, params }))
  for (;;) {
    const [{ data }] = (await once(socket, 'message', { signal })) as [{ readonly data: string }]
    const answer = JSON.parse(data) as { readonly id?: number; readonly result?: Readonly<Record<string, unknown>> }
    if (answer.id === id) return answer.result ?? {}
  }
}

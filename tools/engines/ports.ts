import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

// Below the ranges from which systems take ports of outgoing connections: while an engine is away, nothing else comes
// to sit on its port, not even a client that tries to reach it.
const lowest = 20_000
const highest = 30_000
const maxTries = 100

/** Whether a server on loopback could listen on `port` now. */
export const portFree = async (port: number): Promise<boolean> => {
  const server = createServer()
  try {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    server.close()
    await once(server, 'close')
    return true
  } catch {
    return false
  }
}

/** `preferred` when it is free, else any free port. */
export const choosePort = async (preferred?: number): Promise<number> => {
  if (preferred !== undefined && (await portFree(preferred))) return preferred
  for (let tries = 0; tries < maxTries; tries += 1) {
    const port = randomInt(lowest, highest)
    if (await portFree(port)) return port
  }
  throw new Error(`found no free port between ${lowest} and ${highest}`)
}

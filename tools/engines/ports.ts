import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'

export type Address = { host: string; port: number }

export const loopback = '127.0.0.1'

// Below the ephemeral port ranges: while an engine is down, no outgoing connection can occupy its port.
const lowest = 20_000
const highest = 30_000
const maxTries = 100
const connectTimeoutMs = 5_000

export const portFree = async (port: number, host = loopback): Promise<boolean> => {
  const server = createServer()
  try {
    server.listen(port, host)
    await once(server, 'listening')
    server.close()
    await once(server, 'close')
    return true
  } catch {
    return false
  }
}

/** `preferred` if it is free, else any free port. */
export const choosePort = async (preferred?: number, host = loopback): Promise<number> => {
  if (preferred !== undefined && (await portFree(preferred, host))) return preferred
  for (let tries = 0; tries < maxTries; tries += 1) {
    const port = randomInt(lowest, highest)
    if (await portFree(port, host)) return port
  }
  throw new Error(`found no free port between ${lowest} and ${highest}`)
}

/** Nothing reserves the ports until a server listens there. */
export const chooseDistinctPorts = async (count: number): Promise<number[]> => {
  const ports = new Set<number>()
  while (ports.size < count) ports.add(await choosePort())
  return [...ports]
}

/** Within 5 s. */
export const acceptsConnections = async (address: Address, signal: AbortSignal): Promise<boolean> => {
  const socket = connect(address)
  try {
    await once(socket, 'connect', { signal: AbortSignal.any([signal, AbortSignal.timeout(connectTimeoutMs)]) })
    return true
  } catch {
    signal.throwIfAborted()
    return false
  } finally {
    socket.destroy()
  }
}

import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Problem } from '../model/schema.ts'
import type { Config } from './config.ts'
import type { ListenAddress } from './httpServer.ts'

/** The default ports of a process; without `port`, it has an admin port only. */
export type DefaultPorts = { readonly port?: number; readonly adminPort: number }

export async function listeningProblems(config: Config, { port, adminPort }: DefaultPorts): Promise<Problem[]> {
  const own = port === undefined ? undefined : (config.PORT ?? port)
  const admin = config.ADMIN_PORT ?? adminPort
  if (admin !== 0 && own === admin) return [{ path: 'ADMIN_PORT', rule: `must differ from PORT: both are ${admin}` }]
  const problems = await Promise.all([
    own === undefined ? undefined : problemAt({ port: own, host: config.HOST }, ['PORT', 'HOST']),
    admin === 0 ? undefined : problemAt({ port: admin, host: config.ADMIN_HOST }, ['ADMIN_PORT', 'ADMIN_HOST']),
  ])
  return problems.filter((problem) => problem !== undefined)
}

/** Tries to listen on an address, for a moment, and disconnects clients meanwhile. */
async function problemAt(address: ListenAddress, [port, host]: [string, string]): Promise<Problem | undefined> {
  const server = createServer((socket) => socket.destroy())
  try {
    server.listen(address)
    await once(server, 'listening')
    server.close()
    await once(server, 'close')
    return undefined
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    const path = ['EADDRINUSE', 'EACCES'].includes(code) ? port : host
    return { path, rule: `cannot be listened on here: ${message}` }
  }
}

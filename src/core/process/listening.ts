import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Problem } from '../model/schema.ts'
import type { Config } from './config.ts'
import type { ListenAddress } from './httpServer.ts'

/** The ports of a process unless the environment names others. Without `port`, the process has an admin port alone. */
export type DefaultPorts = { readonly port?: number; readonly adminPort: number }

/** Problems of the ports and addresses that the configuration names. */
export async function listeningProblems(config: Config, { port, adminPort }: DefaultPorts): Promise<Problem[]> {
  const own = port === undefined ? undefined : (config.PORT ?? port)
  const admin = config.ADMIN_PORT ?? adminPort
  if (admin !== 0 && own === admin) return [{ path: 'ADMIN_PORT', rule: `must differ from PORT: both are ${admin}` }]
  const problems = await Promise.all([
    own === undefined ? undefined : problemAt({ port: own, host: config.HOST }, ['PORT', 'HOST']),
    problemAt({ port: admin, host: config.ADMIN_HOST }, ['ADMIN_PORT', 'ADMIN_HOST']),
  ])
  return problems.filter((problem) => problem !== undefined)
}

/** Whether an error says that a port or an address cannot be listened on. */
export const isListeningError = (error: unknown): boolean =>
  error instanceof Error && (error as NodeJS.ErrnoException).syscall === 'listen'

/** Tries an address by listening for a moment. A client that connects meanwhile is refused. */
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

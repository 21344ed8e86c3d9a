import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Problem } from '../model/schema.ts'
import type { Config } from './config.ts'
import type { ListenAddress } from './httpServer.ts'

/** The ports of a process unless it is told others; no `port` where it serves nobody but its operators. */
export type DefaultPorts = { readonly port?: number; readonly adminPort: number }

/** What keeps this process from listening as the configuration says. */
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

/** Listens for a moment. A client that connects in it is refused. */
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

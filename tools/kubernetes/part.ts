import { join } from 'node:path'
import { type Service, startLogged } from '../demo/services.ts'

export type StartOptions = {
  folder: string
  /** Where the started process is put, so that the caller can end it also after a failure of another one. */
  started: Service[]
  signal: AbortSignal
}

/** Starts a process of the cluster, whose log is `<folder>/logs/<name>.log`. Resolves with its process id. */
export const startPart = async (
  { folder, started, signal }: StartOptions,
  name: string,
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<number> => {
  const definition = { command, args: [...args], cwd: folder, env: { ...process.env, ...env } }
  const service = await startLogged(name, definition, { logsFolder: join(folder, 'logs'), signal })
  started.push(service)
  return service.program.pid
}

import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { logTail } from '../engines/logTail.ts'
import { type Command, type SupervisedProgram, startSupervised } from '../engines/supervisedProgram.ts'

export type Service = { readonly name: string; readonly logPath: string; readonly program: SupervisedProgram }

export type ServiceName = 'indexer' | 'api' | 'settings'
type CommandName = 'rebuild' | 'verify'

const root = fileURLToPath(new URL('../..', import.meta.url))

export const startService = (
  name: ServiceName | CommandName,
  options: { environment: Record<string, string>; logsFolder: string; signal: AbortSignal },
): Promise<Service> => {
  const env = { ...process.env, ...options.environment }
  return startLogged(name, { command: join(root, 'bin/tidemark'), args: [name], cwd: root, env }, options)
}

/** `<name>.log` in `logsFolder` starts empty. */
export async function startLogged(
  name: string,
  command: Command,
  { logsFolder, signal }: { logsFolder: string; signal: AbortSignal },
): Promise<Service> {
  const logPath = join(logsFolder, `${name}.log`)
  await mkdir(logsFolder, { recursive: true })
  await rm(logPath, { force: true })
  return { name, logPath, program: await startSupervised(command, { logPath }, signal) }
}

/** Rejects with the last lines of the program's log when it ends. */
export async function failWhenEnded({ name, logPath, program }: Service): Promise<never> {
  const { how } = await program.ended
  const tail = await logTail(logPath)
  throw new Error(`${name} ${how}. The end of ${logPath}:\n${tail.replaceAll(/^/gm, '  ')}`)
}

import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { logTail } from '../engines/logTail.ts'
import { type SupervisedProgram, startSupervised } from '../engines/supervisedProgram.ts'

/** One of the project's processes. It ends with this process. */
export type Service = {
  readonly name: 'indexer' | 'api' | 'settings'
  readonly logPath: string
  readonly program: SupervisedProgram
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const labels = { indexer: 'indexer', api: 'API', settings: 'settings area' }

/** Starts one with this process's environment and `environment`; `<name>.log` in `logsFolder` starts empty. */
export async function startService(
  name: Service['name'],
  options: { environment: Record<string, string>; logsFolder: string; signal: AbortSignal },
): Promise<Service> {
  const { environment, logsFolder, signal } = options
  const logPath = join(logsFolder, `${name}.log`)
  await mkdir(logsFolder, { recursive: true })
  await rm(logPath, { force: true })
  const command = {
    command: join(root, 'bin/tidemark'),
    args: [name],
    cwd: root,
    env: { ...process.env, ...environment },
  }
  return { name, logPath, program: await startSupervised(command, { logPath }, signal) }
}

/** Rejects with the last lines of its log when the service ends. */
export async function failWhenEnded({ name, logPath, program }: Service): Promise<never> {
  const { how } = await program.ended
  const tail = await logTail(logPath)
  throw new Error(`The ${labels[name]} ${how}. The end of ${logPath}:\n${tail.replaceAll(/^/gm, '  ')}`)
}

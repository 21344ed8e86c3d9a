import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { withLog } from '../engines/logTail.ts'
import { type SupervisedProgram, startSupervised } from '../engines/supervisedProgram.ts'

export type StartedProgram = SupervisedProgram & { readonly name: string; readonly logPath: string }

export type StartOptions = {
  folder: string
  /** Where the started program is put, so that the caller can end it also after a failure of another one. */
  started: StartedProgram[]
  signal: AbortSignal
}

/** Starts a program whose log is `<folder>/logs/<name>.log`. */
export const startLogged = async (
  { folder, started, signal }: StartOptions,
  name: string,
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<StartedProgram> => {
  const logPath = join(folder, 'logs', `${name}.log`)
  await mkdir(join(folder, 'logs'), { recursive: true })
  await rm(logPath, { force: true })
  const definition = { command, args: [...args], cwd: folder, env: { ...process.env, ...env } }
  const program = await withLog({ name, logPath, signal }, () => startSupervised(definition, { logPath }, signal))
  const named = { ...program, name, logPath }
  started.push(named)
  return named
}

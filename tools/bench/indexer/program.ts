import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { logTail } from '../../engines/logTail.ts'
import { type Command, startSupervised } from '../../engines/supervisedProgram.ts'
import type { Stage } from '../stage.ts'

/** A contender that runs. */
export type Program = {
  readonly pid: number
  stop(): Promise<void>
  /** Rejects with the end of its log when it has ended by itself. */
  expectRunning(): Promise<void>
}

const folder = fileURLToPath(new URL('.', import.meta.url))

/** A TypeScript program of this folder, with `args`. */
export const nodeCommand = (file: string, args: readonly string[] = []) => ({
  command: process.execPath,
  // KafkaJS waits negative times now and then.
  args: ['--disable-warning=TimeoutNegativeWarning', join(folder, file), ...args],
})

/** Starts a program that stays until it is stopped; its log, `<name>.log`, is begun anew. It ends with the stage. */
export async function startProgram(
  { logsFolder, signal, release, environment }: Stage,
  name: string,
  command: Pick<Command, 'command' | 'args'>,
  more: Readonly<Record<string, string>>,
): Promise<Program> {
  const logPath = join(logsFolder, `${name}.log`)
  await mkdir(logsFolder, { recursive: true })
  await rm(logPath, { force: true })
  const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', ...environment, ...more }
  const program = await startSupervised({ ...command, cwd: folder, env }, { logPath }, signal)
  release(() => program.stop())
  return {
    pid: program.pid,
    stop: () => program.stop(),
    expectRunning: async () => {
      if (!program.hasEnded()) return
      const { how } = await program.ended
      throw new Error(`${name} ${how}. The end of ${logPath}:\n${await logTail(logPath)}`)
    },
  }
}

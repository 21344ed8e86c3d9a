import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { logTail } from '../engines/logTail.ts'
import { startSupervised } from '../engines/supervisedProgram.ts'
import type { Stage } from './stage.ts'

/** A program of the bench that runs. */
export type Program = {
  readonly pid: number
  stop(): Promise<void>
  /** Rejects with the end of its log when it has ended by itself. */
  expectRunning(): Promise<void>
}

const folder = fileURLToPath(new URL('.', import.meta.url))

/** Starts a TypeScript program of this folder, which stays until it is stopped or the stage ends; its log, `<name>.log`, is begun anew. */
export async function startProgram(
  { logsFolder, signal, release, environment }: Stage,
  own: {
    readonly name: string
    readonly file: string
    readonly args?: readonly string[]
    readonly environment?: Readonly<Record<string, string>>
  },
): Promise<Program> {
  const logPath = join(logsFolder, `${own.name}.log`)
  await mkdir(logsFolder, { recursive: true })
  await rm(logPath, { force: true })
  // KafkaJS waits negative times now and then.
  const args = ['--disable-warning=TimeoutNegativeWarning', join(folder, own.file), ...(own.args ?? [])]
  const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', ...environment, ...own.environment }
  const program = await startSupervised({ command: process.execPath, args, cwd: folder, env }, { logPath }, signal)
  release(() => program.stop())
  return {
    pid: program.pid,
    stop: () => program.stop(),
    expectRunning: async () => {
      if (!program.hasEnded()) return
      const { how } = await program.ended
      throw new Error(`${own.name} ${how}. The end of ${logPath}:\n${await logTail(logPath)}`)
    },
  }
}

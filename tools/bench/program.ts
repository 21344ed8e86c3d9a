import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { failWhenEnded, type Service, startLogged } from '../demo/services.ts'
import type { Stage } from './stage.ts'

export type Program = {
  readonly pid: number
  stop(): Promise<void>
  /** Rejects with the end of the log if the program has ended by itself. */
  expectRunning(): Promise<void>
}

const folder = fileURLToPath(new URL('.', import.meta.url))

/** A TypeScript program of this folder, which runs until it is stopped or the stage ends. `<name>.log` starts empty. */
export async function startProgram(
  { logsFolder, signal, release, environment }: Stage,
  name: string,
  file: string,
  own: readonly string[],
): Promise<Program> {
  // KafkaJS passes negative times to setTimeout.
  const args = ['--disable-warning=TimeoutNegativeWarning', join(folder, file), ...own]
  const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', ...environment }
  const command = { command: process.execPath, args, cwd: folder, env }
  const started = await startLogged(name, command, { logsFolder, signal })
  return untilReleased(started, release)
}

/** A program that is stopped when the stage ends, at the latest. */
export function untilReleased(service: Service, release: Stage['release']): Program {
  const { program } = service
  release(() => program.stop())
  return {
    pid: program.pid,
    stop: () => program.stop(),
    expectRunning: async () => {
      if (program.hasEnded()) await failWhenEnded(service)
    },
  }
}

import { execFile } from 'node:child_process'
import type { CommandName } from '../../bin/commands.ts'

export type Run = { readonly code: number; readonly stdout: string; readonly stderr: string }

/** Runs a command of the project to its end, as a user does. */
export const runCommand = (
  command: CommandName,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  timeoutMs?: number,
): Promise<Run> =>
  new Promise((resolve) => {
    const argv = ['--disable-warning=TimeoutNegativeWarning', 'bin/tidemark.ts', command, ...args]
    const options = { env: { ...process.env, ...environment }, timeout: timeoutMs }
    execFile(process.execPath, argv, options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    )
  })

/** A process that is not refused would run on. */
const refusalDeadlineMs = 20_000

/** What a process writes that ends because of its configuration: one line for each setting. */
export async function refusalOf(
  command: CommandName,
  environment: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): Promise<string> {
  const settings = { PORT: '0', ADMIN_PORT: '0', ...environment }
  const { code, stdout, stderr } = await runCommand(command, args, settings, refusalDeadlineMs)
  if (code !== 78 || stdout !== '') throw new Error(`${command} ended with ${code}: ${stdout}${stderr}`)
  return stderr
}

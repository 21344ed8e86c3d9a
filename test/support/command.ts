import { execFile } from 'node:child_process'

export type Run = { readonly code: number; readonly stdout: string; readonly stderr: string }

/** Runs a command of the project to its end, as a user does. */
export const runCommand = (
  script: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  timeoutMs?: number,
): Promise<Run> =>
  new Promise((resolve) => {
    const command = ['--disable-warning=TimeoutNegativeWarning', script, ...args]
    const options = { env: { ...process.env, ...environment }, timeout: timeoutMs }
    execFile(process.execPath, command, options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    )
  })

/** A process that is not refused would run on. */
const refusalDeadlineMs = 20_000

/** What a process writes that ends because of its configuration: one line for each setting. */
export async function refusalOf(
  script: string,
  environment: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): Promise<string> {
  const settings = { PORT: '0', ADMIN_PORT: '0', ...environment }
  const { code, stdout, stderr } = await runCommand(script, args, settings, refusalDeadlineMs)
  if (code !== 78 || stdout !== '') throw new Error(`${script} ended with ${code}: ${stdout}${stderr}`)
  return stderr
}

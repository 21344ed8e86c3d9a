import { execFile } from 'node:child_process'

export type Run = { readonly code: number; readonly stdout: string; readonly stderr: string }

/** Runs a command of the project to its end, as a user does. */
export const runCommand = (
  script: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Run> =>
  new Promise((resolve) => {
    const command = ['--disable-warning=TimeoutNegativeWarning', script, ...args]
    execFile(process.execPath, command, { env: { ...process.env, ...environment } }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    )
  })

/** What a process writes that ends because of its configuration: one line for each setting. */
export async function refusalOf(
  script: string,
  environment: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): Promise<string> {
  const { code, stdout, stderr } = await runCommand(script, args, { ...environment, PORT: '0', ADMIN_PORT: '0' })
  if (code !== 78 || stdout !== '') throw new Error(`${script} ended with ${code}: ${stdout}${stderr}`)
  return stderr
}

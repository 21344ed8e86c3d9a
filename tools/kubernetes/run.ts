import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const maxOutputBytes = 2 ** 26

type RunOptions = {
  signal: AbortSignal
  deadlineMs?: number
  cwd?: string
  env?: NodeJS.ProcessEnv
}

/** Runs a program and resolves with what it printed. Rejects with the end of what it printed to stderr if it fails or takes longer than a minute (or `deadlineMs`). */
export const run = async (
  command: string,
  args: readonly string[],
  { signal, deadlineMs = 60_000, ...options }: RunOptions,
): Promise<string> => {
  try {
    const { stdout } = await promisify(execFile)(command, args, {
      ...options,
      signal,
      timeout: deadlineMs,
      maxBuffer: maxOutputBytes,
    })
    return stdout
  } catch (error) {
    signal.throwIfAborted()
    const { stderr = '', killed } = error as { stderr?: string; killed?: boolean }
    const reason = killed ? `took longer than ${deadlineMs / 1_000} s` : 'failed'
    throw new Error(`${command} ${args.join(' ')} ${reason}: ${stderr.trim().slice(-2_000)}`, { cause: error })
  }
}

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const keysCommand = fileURLToPath(new URL('../../src/settings/keysCommand.ts', import.meta.url))
const deadlineMs = 30_000

const run = promisify(execFile)

/** Creates a key as `npm run keys` does, and returns its plaintext. Rejects with what the command says, after 30 s at the latest. */
export async function createAccountKey(
  teamId: string,
  environment: Record<string, string>,
  signal: AbortSignal,
): Promise<string> {
  const args = [keysCommand, 'create', '--team', teamId, '--name', 'Demo']
  try {
    const env = { ...process.env, ...environment }
    const { stdout } = await run(process.execPath, args, { env, signal, timeout: deadlineMs })
    return stdout.trim()
  } catch (error) {
    signal.throwIfAborted()
    const { stderr = '', message } = error as Error & { stderr?: string }
    throw new Error(`No key could be created for ${teamId}: ${stderr.trim() || message}`, { cause: error })
  }
}

import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { writePrivateJson } from './demoFile.ts'

const program = fileURLToPath(new URL('../../bin/tidemark', import.meta.url))
const timeoutMs = 30_000

const run = promisify(execFile)

/** Resolves with the plaintext that `npm run keys` prints; rejects with its message, or after 30 s. */
export async function createAccountKey(
  teamId: string,
  environment: Record<string, string>,
  signal: AbortSignal,
): Promise<string> {
  const args = ['keys', 'create', '--team', teamId, '--name', 'Demo']
  try {
    const env = { ...process.env, ...environment }
    const { stdout } = await run(program, args, { env, signal, timeout: timeoutMs })
    return stdout.trim()
  } catch (error) {
    signal.throwIfAborted()
    const { stderr = '', message } = error as Error & { stderr?: string }
    throw new Error(`No key could be created for ${teamId}: ${stderr.trim() || message}`, { cause: error })
  }
}

/**
 * A key for each team, in their order. The file at `path` stores them between runs, because a plaintext key is shown only once and a team has at most
 * ten keys. A key that `isValid` rejects is replaced.
 */
export async function keptAccountKeys(
  path: string,
  teamIds: readonly string[],
  options: { isValid: (key: string) => Promise<boolean>; create: (teamId: string) => Promise<string> },
): Promise<string[]> {
  const kept = new Map(Object.entries(await readKept(path)))
  for (const id of teamIds) {
    const known = kept.get(id)
    if (known !== undefined && (await options.isValid(known))) continue
    kept.set(id, await options.create(id))
    await writePrivateJson(path, Object.fromEntries(kept))
  }
  return teamIds.map((id) => kept.get(id) ?? '')
}

async function readKept(path: string): Promise<Record<string, string>> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Record<string, string>
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
}

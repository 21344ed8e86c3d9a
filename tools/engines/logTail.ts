import { open, stat } from 'node:fs/promises'

const maxBytes = 4_096
const maxLines = 20

/** Length of a log in bytes, 0 when there is none: where the next run's part begins. */
export const logLength = async (path: string): Promise<number> => {
  const found = await stat(path).catch(() => undefined)
  return found?.size ?? 0
}

/** The end of a log, at most 20 lines and 4 KiB of it, from byte `from` on; empty when there is none. */
export const logTail = async (path: string, from = 0): Promise<string> => {
  const length = await logLength(path)
  const text = await readFrom(path, Math.max(from, length - maxBytes))
  return text.trimEnd().split(/\r?\n/).slice(-maxLines).join('\n')
}

/** Everything in a log from byte `from` on; empty when there is none. */
export const readFrom = async (path: string, from: number): Promise<string> => {
  const file = await open(path).catch(() => undefined)
  if (file === undefined) return ''
  try {
    const { size } = await file.stat()
    const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.max(0, size - from)), 0, null, from)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}

/**
 * Does `work`, which is given the log's length at its begin; what it rejects with is told under `name`, together with
 * the end of what was logged meanwhile. Rejects with the signal's reason when aborted.
 */
export const withLog = async <T>(
  { name, logPath, signal }: { name: string; logPath: string; signal: AbortSignal },
  work: (from: number) => Promise<T>,
): Promise<T> => {
  const from = await logLength(logPath)
  try {
    return await work(from)
  } catch (error) {
    signal.throwIfAborted()
    const tail = await logTail(logPath, from)
    const lines = tail === '' ? `It logged nothing to ${logPath}.` : `The end of ${logPath}:\n${indented(tail)}`
    throw new Error(`${name}: ${(error as Error).message}. ${lines}`, { cause: error })
  }
}

const indented = (text: string): string => text.replaceAll(/^/gm, '  ')

import { open, stat } from 'node:fs/promises'

const maxBytes = 4_096
const maxLines = 20

const logLength = async (path: string): Promise<number> => (await stat(path).catch(() => ({ size: 0 }))).size

/** The log from byte `from` on, at most 20 lines and 4 KiB; empty without a file. */
export const logTail = async (path: string, from = 0): Promise<string> => {
  const length = await logLength(path)
  const text = await readFrom(path, Math.max(from, length - maxBytes))
  return text.trimEnd().split(/\r?\n/).slice(-maxLines).join('\n')
}

/** Empty without a file. */
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
 * Runs `work` with the current length of the log. If `work` rejects, rejects with `name`, its message and the lines that were logged meanwhile. If
 * aborted, rejects with the signal's reason.
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

import { pause } from '../../engines/waiting.ts'

/** Has `writeOne` write so often a second while `work` goes on. Rejects when one of them cannot be written. */
export async function whileWriting<T>(
  writeOne: () => Promise<void>,
  perSecond: number,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const over = new AbortController()
  const stop = AbortSignal.any([signal, over.signal])
  const beganMs = performance.now()
  const write = async (): Promise<void> => {
    for (let written = 0; !stop.aborted; written++) {
      await writeOne()
      const dueMs = beganMs + ((written + 1) * 1_000) / perSecond
      await pause(Math.max(dueMs - performance.now(), 0), stop).catch(() => undefined)
    }
  }
  const writing = write()
  try {
    const [outcome] = await Promise.all([work().finally(() => over.abort()), writing])
    return outcome
  } finally {
    over.abort()
  }
}

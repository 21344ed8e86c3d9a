import { pause } from '../engines/waiting.ts'

const tickMs = 10

/**
 * Calls `append` with how many are due, so many a second, as long as `work` goes on. Rejects when one of both does; `work` is told by its
 * signal.
 */
export async function whileAppending<T>(
  append: (due: number) => Promise<void>,
  perSecond: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const [over, failed] = [new AbortController(), new AbortController()]
  const ending = AbortSignal.any([signal, over.signal])
  const beganMs = performance.now()
  const appendAll = async (): Promise<void> => {
    let appended = 0
    while (!ending.aborted) {
      const due = Math.floor(((performance.now() - beganMs) * perSecond) / 1_000) - appended
      if (due > 0) await append(due)
      appended += due
      await pause(tickMs, ending).catch(() => undefined)
    }
  }
  const appending = appendAll().catch((error: unknown) => {
    failed.abort(error)
    throw error
  })
  const working = work(AbortSignal.any([signal, failed.signal])).finally(() => over.abort())
  const [outcome] = await Promise.all([working, appending])
  return outcome
}

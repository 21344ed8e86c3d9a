import { setTimeout as delay } from 'node:timers/promises'

export type WaitOptions = { deadlineMs: number; signal: AbortSignal }

const pollMs = 100

/** Polls until `condition` is true; false after `deadlineMs`. Rejects with the signal's reason if aborted, or with the error of `condition`. */
export const waitUntil = async (condition: () => Promise<boolean>, options: WaitOptions): Promise<boolean> => {
  const end = performance.now() + options.deadlineMs
  for (;;) {
    options.signal.throwIfAborted()
    if (await condition()) return true
    if (performance.now() >= end) return false
    await pause(pollMs, options.signal)
  }
}

/** Rejects with the signal's reason if aborted. */
export const pause = async (ms: number, signal: AbortSignal): Promise<void> => {
  await delay(ms, undefined, { signal }).catch(() => signal.throwIfAborted())
}

/** Undefined if `settled` has not settled after `deadlineMs`. */
export const within = async <T>(settled: Promise<T>, deadlineMs: number): Promise<T | undefined> => {
  const over = new AbortController()
  const timeout = delay(deadlineMs, undefined, { signal: over.signal }).catch(() => undefined)
  try {
    return await Promise.race([settled, timeout])
  } finally {
    over.abort()
  }
}

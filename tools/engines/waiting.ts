import { setTimeout as delay } from 'node:timers/promises'

export type WaitOptions = { deadlineMs: number; signal: AbortSignal }

const pollMs = 100

/**
 * Asks again and again until `condition` holds, for at most `deadlineMs`.
 * Answers whether it came to hold; rejects with the signal's reason when aborted, or with what `condition` throws.
 */
export const waitUntil = async (condition: () => Promise<boolean>, options: WaitOptions): Promise<boolean> => {
  const end = performance.now() + options.deadlineMs
  for (;;) {
    options.signal.throwIfAborted()
    if (await condition()) return true
    if (performance.now() >= end) return false
    await pause(pollMs, options.signal)
  }
}

/** Rests for `ms`; rejects with the signal's own reason when aborted. */
export const pause = async (ms: number, signal: AbortSignal): Promise<void> => {
  await delay(ms, undefined, { signal }).catch(() => signal.throwIfAborted())
}

/** Waits for `settled`, for at most `deadlineMs`. Answers its value, or undefined when time ran out. */
export const within = async <T>(settled: Promise<T>, deadlineMs: number): Promise<T | undefined> => {
  const given = new AbortController()
  const timeout = delay(deadlineMs, undefined, { signal: given.signal }).catch(() => undefined)
  try {
    return await Promise.race([settled, timeout])
  } finally {
    given.abort()
  }
}

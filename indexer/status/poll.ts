import { setTimeout as sleep } from 'node:timers/promises'

/** An answer and when it came. */
export type Seen<T> = { readonly value: T; readonly atMs: number }

/** A question that was not answered is asked again soon. */
const retryMs = 5_000

/**
 * Asks again and again until `signal` aborts, one question at a time, and keeps the newest answer; a failure leaves the one
 * before. The result tells it, undefined while there was none.
 */
export function poll<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  { everyMs, clock, signal }: { everyMs: number; clock: () => number; signal: AbortSignal },
): () => Seen<T> | undefined {
  let latest: Seen<T> | undefined
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      const value = await ask(signal).catch(() => undefined)
      if (value !== undefined) latest = { value, atMs: clock() }
      await sleep(value === undefined ? Math.min(retryMs, everyMs) : everyMs, undefined, { signal, ref: false })
    }
  }
  // The end of the wait, when the signal aborts, is the end of it all.
  run().catch(() => undefined)
  return () => latest
}

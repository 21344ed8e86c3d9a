import { setTimeout as sleep } from 'node:timers/promises'

const firstMs = 100
const maxMs = 10_000

/** Full jitter: a random time up to a bound that doubles with every attempt (1, 2, …), at most ten seconds. */
export const backoffMs = (attempt: number, random: () => number): number =>
  random() * Math.min(maxMs, firstMs * 2 ** Math.min(attempt, 20))

/** Tries until it succeeds or `signal` aborts (then it throws the signal's reason); `onFailure` hears of every failure. */
export async function untilDone<T>(
  attempt: () => Promise<T>,
  onFailure: (error: unknown, attempts: number) => void,
  signal: AbortSignal,
  random: () => number,
): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    signal.throwIfAborted()
    try {
      return await attempt()
    } catch (error) {
      signal.throwIfAborted()
      onFailure(error, attempts)
      await sleep(backoffMs(attempts, random), undefined, { signal })
    }
  }
}

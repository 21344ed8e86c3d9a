import { jest } from '@jest/globals'

/** Lets promises that are settled be heard. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
}

/** Time, and every timer, in the hands of a test. */
export function handClock() {
  jest.useFakeTimers()
  const startMs = Date.now()
  const nowMs = (): number => Date.now() - startMs
  return {
    nowMs,
    isTicking: (): boolean => jest.getTimerCount() > 0,
    tickAt: async (atMs: number): Promise<void> => {
      await jest.advanceTimersByTimeAsync(atMs - nowMs())
      await settle()
    },
  }
}

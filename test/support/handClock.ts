import { jest } from '@jest/globals'

/** Lets handlers of settled promises run. */
export async function flushPromises(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
}

/** A clock whose time and timers a test advances. */
export function handClock() {
  jest.useFakeTimers()
  const startMs = Date.now()
  const nowMs = (): number => Date.now() - startMs
  return {
    nowMs,
    isTicking: (): boolean => jest.getTimerCount() > 0,
    tickAt: async (atMs: number): Promise<void> => {
      await jest.advanceTimersByTimeAsync(atMs - nowMs())
      await flushPromises()
    },
  }
}

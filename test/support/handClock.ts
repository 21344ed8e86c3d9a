/** Lets promises that are settled be heard. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
}

/** Time, and all that is repeated in it, in the hands of a test. */
export function handClock() {
  let nowMs = 0
  const ticks = new Set<() => void>()
  return {
    nowMs: (): number => nowMs,
    repeat: (tick: () => void): (() => void) => {
      ticks.add(tick)
      return () => ticks.delete(tick)
    },
    isTicking: (): boolean => ticks.size > 0,
    tickAt: async (atMs: number): Promise<void> => {
      nowMs = atMs
      for (const tick of ticks) tick()
      await settle()
    },
  }
}

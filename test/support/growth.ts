const rounds = 3
const attempts = 4
/** Shorter measurements are mostly noise of the clock and of garbage collection. */
const leastMs = 1

/** Between linear growth (4) and quadratic growth (16). */
export const mostGrowth = 9

/**
 * How many times as much processor time work takes on an input of four times the length: about 4 where its cost grows as its input does, 16 where
 * it grows with the square. The best of several attempts counts, because caches and collections of garbage take part.
 */
export function growthOf(workOn: (length: number) => () => unknown, length: number): number {
  const [short, long] = [workOn(length), workOn(4 * length)]
  let best = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < attempts && best > mostGrowth; attempt++)
    best = Math.min(best, leastOf(long) / Math.max(leastMs, leastOf(short)))
  return best
}

/** The least processor time of this thread (ms) that one of several runs took. */
function leastOf(work: () => unknown): number {
  const times = Array.from({ length: rounds }, () => {
    const before = process.threadCpuUsage()
    work()
    const { user, system } = process.threadCpuUsage(before)
    return (user + system) / 1_000
  })
  return Math.min(...times)
}

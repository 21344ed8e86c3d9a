import type { History, HistoryEvent } from './history.ts'
import { type Outcome, runHistory } from './runHistory.ts'

/**
 * Shrinks a history that breaks an invariant to one that still breaks the same one, by leaving out halves of its events, then smaller
 * parts, then single events (Zeller's delta debugging), in at most `maxRuns` runs.
 */
export async function shrink(outcome: Outcome, maxRuns: number): Promise<Outcome> {
  const { history, violation } = outcome
  let smallest = outcome
  let runs = 0
  const tryWith = async (events: readonly HistoryEvent[]): Promise<boolean> => {
    if (runs++ >= maxRuns) return false
    const tried = await runHistory({ ...history, events })
    if (tried.violation?.invariant !== violation?.invariant) return false
    smallest = tried
    return true
  }
  for (let parts = 2; parts <= 2 * smallest.history.events.length && runs < maxRuns; ) {
    const { events } = smallest.history
    const size = Math.max(1, Math.ceil(events.length / parts))
    let isSmaller = false
    for (let at = 0; at < events.length && !isSmaller; at += size)
      isSmaller = await tryWith([...events.slice(0, at), ...events.slice(at + size)])
    if (!isSmaller && size === 1) break
    parts = isSmaller ? Math.max(2, parts - 1) : parts * 2
  }
  return smallest
}

/** The indices in `whole` of the events of `smaller`, for `--events`. */
export const eventNumbers = (whole: History, smaller: History): number[] =>
  smaller.events.map((event) => whole.events.indexOf(event))

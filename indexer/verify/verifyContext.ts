import { setTimeout as sleep } from 'node:timers/promises'
import type { TeamId } from '../../src/core/model/ids.ts'
import type { CommandTools } from '../engineCommand.ts'

export type VerifyContext = CommandTools & {
  /** Undefined for all teams. */
  readonly team: TeamId | undefined
  /** To be awaited after every small piece of work. Pauses about half of the time, so that readers and writers have the engines to themselves. */
  pauseIfBusy(): Promise<void>
}

const workMs = 20
const maxPauseMs = 1_000

/** After 20 ms of work, pauses as long as the work has taken, for a second at most. */
export function pausesAsLong(signal: AbortSignal): () => Promise<void> {
  let sinceMs = performance.now()
  return async () => {
    const workedMs = performance.now() - sinceMs
    if (workedMs < workMs) return
    await sleep(Math.min(workedMs, maxPauseMs), undefined, { signal })
    sinceMs = performance.now()
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { TeamId } from '../../src/core/model/ids.ts'
import type { CommandTools } from '../engineCommand.ts'

export type VerifyContext = CommandTools & {
  /** Compares only documents and keys of this team; undefined for all teams. */
  readonly team: TeamId | undefined
  /** Awaited after every small piece of work. It pauses, to leave at least half of every engine to readers and writers. */
  pauseIfBusy(): Promise<void>
}

const workMs = 20
const maxPauseMs = 1_000

/** Pauses as long as the command has worked since the last pause (at most a second), once that are 20 ms. */
export function pausesAsLong(signal: AbortSignal): () => Promise<void> {
  let sinceMs = performance.now()
  return async () => {
    const workedMs = performance.now() - sinceMs
    if (workedMs < workMs) return
    await sleep(Math.min(workedMs, maxPauseMs), undefined, { signal })
    sinceMs = performance.now()
  }
}

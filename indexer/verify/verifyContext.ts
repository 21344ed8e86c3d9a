import { setTimeout as sleep } from 'node:timers/promises'
import type { TeamId } from '../../src/core/model/ids.ts'
import type { CommandTools } from '../engineCommand.ts'
import type { Share } from './share.ts'

export type VerifyContext = CommandTools & {
  /** Compares only documents and keys of this team; undefined for all teams. */
  readonly team: TeamId | undefined
  readonly share: Share
  /** Must be awaited after every small piece of work. It pauses for about half of the time, so that readers and writers have the engines to themselves then. */
  pauseIfBusy(): Promise<void>
}

const workMs = 20
const maxPauseMs = 1_000

/** A `pauseIfBusy` that pauses once the command has worked for 20 ms: as long as it has worked since the last pause, but for a second at most. */
export function pausesAsLongAsItWorked(signal: AbortSignal): () => Promise<void> {
  let sinceMs = performance.now()
  return async () => {
    const workedMs = performance.now() - sinceMs
    if (workedMs < workMs) return
    await sleep(Math.min(workedMs, maxPauseMs), undefined, { signal })
    sinceMs = performance.now()
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { TeamId } from '../../src/core/model/ids.ts'
import type { CommandTools } from '../engineCommand.ts'
import type { Share } from './share.ts'

/** What a verification compares, and the tools for it. */
export type VerifyContext = CommandTools & {
  /** Compares only documents and keys of this team; undefined for all teams. */
  readonly team: TeamId | undefined
  readonly share: Share
  /** To be awaited after each small piece of work. Pauses for about half of the time, in which clients and indexers have the engines to themselves. */
  pauseAfterWork(): Promise<void>
}

const minWorkMs = 20
const maxPauseMs = 1_000

/** Returns a `pauseAfterWork`. Once 20 ms of work have passed since its last pause, it pauses as long as this work took, for a second at most. */
export function pausesAsLongAsItWorked(signal: AbortSignal): () => Promise<void> {
  let pauseEndedMs = performance.now()
  return async () => {
    const workedMs = performance.now() - pauseEndedMs
    if (workedMs < minWorkMs) return
    await sleep(Math.min(workedMs, maxPauseMs), undefined, { signal })
    pauseEndedMs = performance.now()
  }
}

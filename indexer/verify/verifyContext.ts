import { setTimeout as sleep } from 'node:timers/promises'
import type { TeamId } from '../../src/core/model/ids.ts'
import type { CommandTools } from '../engineCommand.ts'
import type { Share } from './share.ts'

export type VerifyContext = CommandTools & {
  /** Undefined for all teams. */
  readonly team: TeamId | undefined
  readonly share: Share
  /** To be awaited after each small piece of work: clients and indexers get the engines for half of the time. */
  pauseAfterWork(): Promise<void>
}

const minWorkMs = 20
const maxPauseMs = 1_000

/** Once 20 ms of work have passed, pauses as long as this work took, for a second at most. */
export function pausesAsLongAsItWorked(signal: AbortSignal): () => Promise<void> {
  let pauseEndedMs = performance.now()
  return async () => {
    const workedMs = performance.now() - pauseEndedMs
    if (workedMs < minWorkMs) return
    await sleep(Math.min(workedMs, maxPauseMs), undefined, { signal })
    pauseEndedMs = performance.now()
  }
}

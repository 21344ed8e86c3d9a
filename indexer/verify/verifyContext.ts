import { setTimeout as sleep } from 'node:timers/promises'
import type { TeamId } from '../../src/core/model/ids.ts'
import type { CommandTools } from '../engineCommand.ts'

export type VerifyContext = CommandTools & {
  /** Compares only what belongs to this team. */
  readonly team: TeamId | undefined
  /** Awaited after every small piece of work: leaves readers and writers at least half of every engine. */
  rest(): Promise<void>
}

const workMs = 20
const maxRestMs = 1_000

/** Rests as long as the command has worked, once it has worked for 20 ms. */
export function restsAsLong(signal: AbortSignal): () => Promise<void> {
  let sinceMs = performance.now()
  return async () => {
    const workedMs = performance.now() - sinceMs
    if (workedMs < workMs) return
    await sleep(Math.min(workedMs, maxRestMs), undefined, { signal })
    sinceMs = performance.now()
  }
}

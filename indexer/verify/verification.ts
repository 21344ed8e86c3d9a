import { setTimeout as sleep } from 'node:timers/promises'
import type { TeamId } from '../../src/core/model/ids.ts'
import type { CommandTools } from '../engineCommand.ts'

/** What every step of a verification works with. */
export type Verification = CommandTools & {
  /** Compares only what belongs to this team. */
  readonly team: TeamId | undefined
  readonly pace: Pace
}

/** Whether the replica is in sync cannot be told: something that the comparison rests on is missing or has changed meanwhile. */
export class NotJudged extends Error {
  override readonly name = 'NotJudged'
}

/** How long one request to Elasticsearch may take. */
export const requestTimeoutMs = 30_000

const workMs = 20
const maxRestMs = 1_000

/** Rests as long as it has worked, so that readers and writers keep at least half of every engine. */
export class Pace {
  readonly #signal: AbortSignal
  #sinceMs = performance.now()

  constructor(signal: AbortSignal) {
    this.#signal = signal
  }

  /** To be called after every small piece of work; returns at once until 20 ms have passed. */
  async rest(): Promise<void> {
    const workedMs = performance.now() - this.#sinceMs
    if (workedMs < workMs) return
    await sleep(Math.min(workedMs, maxRestMs), undefined, { signal: this.#signal })
    this.#sinceMs = performance.now()
  }
}

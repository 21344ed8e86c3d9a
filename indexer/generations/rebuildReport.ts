import { Pace } from '../../src/core/model/pace.ts'
import type { TerminalReport } from '../../src/core/process/progressBar.ts'
import {
  forgetRebuildProgress,
  type RebuildPhase,
  type RebuildProgress,
  storeRebuildProgress,
} from '../../src/core/redis/rebuildProgress.ts'
import type { RedisConnection } from '../../src/core/redis/redis.ts'

/** After a much longer time, a status page takes the rebuild for dead. */
const storeEveryMs = 1_500

/** Reports a rebuild to the terminal and, by Redis, to the status pages. */
export class RebuildReport {
  readonly terminal: TerminalReport
  readonly #redis: RedisConnection
  readonly #clock: () => number
  readonly #timer: NodeJS.Timeout
  #progress: RebuildProgress = { generation: null, ...beginning('prepare') }
  #pace = new Pace()
  #stored: Promise<unknown> = Promise.resolve()

  constructor(redis: RedisConnection, terminal: TerminalReport, clock: () => number) {
    this.#redis = redis
    this.#clock = clock
    this.terminal = {
      ...terminal,
      progress: (label, done, total) => {
        terminal.progress(label, done, total)
        this.#note(done, total)
      },
    }
    this.#store()
    this.#timer = setInterval(() => this.#store(), storeEveryMs)
  }

  enter(phase: RebuildPhase, generation = this.#progress.generation): void {
    this.#pace = new Pace()
    this.#progress = { generation, ...beginning(phase) }
  }

  /** After an error, what is stored stays, to show where the rebuild has stopped. */
  async end(how: 'finished' | 'failed'): Promise<void> {
    clearInterval(this.#timer)
    await this.#stored
    if (how === 'finished') await forgetRebuildProgress(this.#redis).catch(() => undefined)
  }

  #note(done: number, total: number): void {
    this.#pace.note(done, this.#clock())
    this.#progress = { ...this.#progress, done, total, perSecond: this.#pace.perSecond() ?? null }
  }

  /** One call after the other, so that `end` removes what was stored last. If Redis does not answer, the rebuild goes on. */
  #store(): void {
    this.#stored = this.#stored.then(() => storeRebuildProgress(this.#redis, this.#progress)).catch(() => undefined)
  }
}

const beginning = (phase: RebuildPhase) => ({ phase, done: null, total: null, perSecond: null })

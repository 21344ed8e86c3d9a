import type { RedisConnection } from '../../src/core/redis/redis.ts'
import { acquireSwitchLock, extendSwitchLock, releaseSwitchLock } from '../../src/core/redis/serving.ts'
import type { WaitLimit } from './untilCommittedPast.ts'

/** The lock expires so long after its last extension. If the rebuild was killed, positions and watermark stand still until then. */
const maxLockMs = 10_000
const renewalMs = 2_500
/** Between two calls of `extend` (so 30 s): a step that makes no progress must not stop the watermark for ever. */
const maxRenewals = 12
const waitDeadlineMs = 20_000

/**
 * The lock in Redis that a rebuild owns while it switches. Meanwhile indexers publish no positions of the serving generation: readers are promised nothing that
 * the new one may lack.
 */
export class SwitchLock {
  readonly #redis: RedisConnection
  readonly #holder: string
  readonly #renewal: NodeJS.Timeout
  #renewals = 0

  private constructor(redis: RedisConnection, holder: string) {
    this.#redis = redis
    this.#holder = holder
    // If the lock has expired, the next `extend` rejects.
    this.#renewal = setInterval(() => {
      if (this.#renewals++ < maxRenewals) extendSwitchLock(redis, holder, maxLockMs).catch(() => undefined)
    }, renewalMs)
  }

  /** Throws if another rebuild owns the lock. */
  static async acquire(redis: RedisConnection, holder: string): Promise<SwitchLock> {
    if (!(await acquireSwitchLock(redis, holder, maxLockMs))) throw new Error('another rebuild is switching')
    return new SwitchLock(redis, holder)
  }

  /** Each step calls this whenever it has made progress. Throws if the lock has expired. */
  async extend(): Promise<void> {
    this.#renewals = 0
    if (!(await extendSwitchLock(this.#redis, this.#holder, maxLockMs)))
      throw new Error('the lock of the switch has expired')
  }

  /** For a wait under the lock: it has a deadline, because the watermark stands still. */
  limit(): WaitLimit {
    return { deadlineMs: waitDeadlineMs, afterPoll: () => this.extend() }
  }

  /** If Redis does not answer, the lock expires. */
  async release(): Promise<void> {
    clearInterval(this.#renewal)
    await releaseSwitchLock(this.#redis, this.#holder).catch(() => undefined)
  }
}

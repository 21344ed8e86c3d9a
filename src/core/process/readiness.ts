import { setTimeout as sleep } from 'node:timers/promises'
import { type Checks, failed, Health, passed, untilHealthy } from '../monitoring/health.ts'
import type { Lifetime } from './lifetime.ts'

/** Until its checks pass, a process could only answer 503. */
const listensWithinMs = 3_000

export interface Readiness {
  readonly health: Health
  /** Waits until all checks have once passed at the same time; for three seconds at most, and not if none are required. */
  readonly untilAble: (checks: Checks) => Promise<void>
  readonly setStarted: (checks: Checks) => void
}

/**
 * A process is ready once it has started, and until it stops.
 * Without clients, it is not ready while a check fails. With clients, it stays ready: otherwise, at the outage of one engine, a load balancer would remove
 * every process, and refuse connections instead of passing on 503 and cached answers. But all checks must have passed once, so that a release that cannot work
 * does not replace one that works; not if an engine was unreachable at the start (`isEngineAway`).
 */
export function readinessOf(servesClients: boolean, isEngineAway: boolean, lifetime: Lifetime): Readiness {
  let isStarted = false
  let isAble = !servesClients || isEngineAway
  const health = new Health(
    () => performance.now(),
    (name) => !servesClients || name === 'process',
  )
  health.add({
    process: async () => {
      if (lifetime.isStopping()) return failed('is stopping')
      if (!isStarted) return failed('is starting')
      return isAble ? passed : failed('has not been able to answer yet: other checks say why')
    },
  })
  return {
    health,
    untilAble: async (checks) => {
      health.add(checks)
      if (isAble) return
      const { signal } = lifetime
      const allPassed = untilHealthy(checks, signal).then(() => {
        isAble = true
      })
      allPassed.catch(() => undefined)
      await Promise.race([allPassed, sleep(listensWithinMs, undefined, { ref: false, signal })]).catch(() => undefined)
    },
    setStarted: (checks) => {
      health.add(checks)
      isStarted = true
    },
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import { type Checks, failed, Health, passed, untilHealthy } from '../monitoring/health.ts'
import type { Lifetime } from './lifetime.ts'

/** How long a process that serves clients waits for its checks before it listens. Without its engines it can only answer 503. */
const listensWithinMs = 3_000

/** What `/readyz` answers. */
export interface Readiness {
  readonly health: Health
  /** Adds checks, and resolves when all have passed at the same time, or after three seconds. */
  readonly untilAble: (checks: Checks) => Promise<void>
  /** Called once the process has started; adds checks. */
  readonly started: (checks: Checks) => void
}

/**
 * Decides when a process is ready: once it has started, and until it stops.
 *
 * A process without clients is also not ready while a check fails. A process that serves clients stays ready: an engine is down, and its answers
 * say so, or need no engine. If it were not ready, a load balancer that follows `/readyz` would take every process away at the outage of one engine,
 * and refuse connections.
 *
 * But before a process with clients is ready for the first time, all its checks must pass once: otherwise a release that cannot work would replace
 * one that does. It does not wait for this if an engine is down at its start (`isEngineAway`).
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
    started: (checks) => {
      health.add(checks)
      isStarted = true
    },
  }
}

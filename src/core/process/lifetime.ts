import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'

const stopDeadlineMs = 8_000

/** At its end, a process closes all resources, for eight seconds at most, then exits. */
export interface Lifetime {
  readonly signal: AbortSignal
  readonly isStopping: () => boolean
  /** Registers a resource to close at the end, last in, first out. `what` names it in the log. */
  readonly release: (what: string, releaser: () => Promise<unknown>) => void
  readonly fail: (error: unknown, exitCode?: number) => void
  /** Makes `/readyz` answer 503, and ends the process `drainMs` later. */
  readonly drain: (drainMs: number) => void
  /** Ends the process. A repeated call only changes the exit code, if given. */
  readonly end: (exitCode?: number) => void
}

export function lifetimeOf(log: Logger): Lifetime {
  const stop = new AbortController()
  const { signal } = stop
  const releasers: { readonly what: string; readonly releaser: () => Promise<unknown> }[] = []
  let lastExitCode = 0
  let isDraining = false

  const end = (exitCode = lastExitCode): void => {
    lastExitCode = exitCode
    if (signal.aborted) return
    stop.abort()
    Promise.race([releaseAll(), sleep(stopDeadlineMs)]).then(() => {
      log.info('stopped')
      process.exit(lastExitCode)
    }, process.abort)
  }
  const releaseAll = async (): Promise<void> => {
    for (const { what, releaser } of releasers.splice(0).reverse())
      await releaser().catch((error: unknown) => log.warn({ err: error, what }, 'a resource could not be released'))
  }
  return {
    signal,
    isStopping: () => isDraining || signal.aborted,
    release: (what, releaser) => {
      releasers.push({ what, releaser })
    },
    fail: (error, exitCode = 1) => {
      log.fatal({ err: error }, 'process failed')
      end(exitCode)
    },
    drain: (drainMs) => {
      isDraining = true
      setTimeout(end, drainMs)
    },
    end,
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'

const stopDeadlineMs = 8_000

/** At its end, a process closes all resources, for eight seconds at most, then exits. */
export interface Lifetime {
  /** Aborts before the resources are closed. */
  readonly signal: AbortSignal
  readonly isStopping: () => boolean
  /** Registers a resource to close, last in, first out. */
  readonly release: (resource: string, releaser: () => Promise<unknown>) => void
  /** Logs the error, and ends the process, by default with exit code 1. */
  readonly fail: (error: unknown, exitCode?: number) => void
  /** Makes `/readyz` answer 503, and ends the process `drainMs` later. */
  readonly drain: (drainMs: number) => void
  /** A repeated call only changes the exit code, if one is given. */
  readonly end: (exitCode?: number) => void
}

export function lifetimeOf(log: Logger): Lifetime {
  const stop = new AbortController()
  const { signal } = stop
  const releasers: { readonly resource: string; readonly releaser: () => Promise<unknown> }[] = []
  let lastExitCode = 0
  let isDraining = false

  const end = (exitCode = lastExitCode): void => {
    lastExitCode = exitCode
    if (signal.aborted) return
    stop.abort()
    // `releaseAll` does not reject, so `process.abort` is not expected.
    Promise.race([releaseAll(), sleep(stopDeadlineMs)]).then(() => {
      log.info('stopped')
      process.exit(lastExitCode)
    }, process.abort)
  }
  const releaseAll = async (): Promise<void> => {
    for (const { resource, releaser } of releasers.splice(0).reverse())
      await releaser().catch((error: unknown) =>
        log.warn({ err: error, what: resource }, 'a resource could not be released'),
      )
  }
  return {
    signal,
    isStopping: () => isDraining || signal.aborted,
    release: (resource, releaser) => {
      releasers.push({ resource, releaser })
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

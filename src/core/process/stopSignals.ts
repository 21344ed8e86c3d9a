/**
 * A terminal signals a process group: npm and its child. npm passes the signal on, so the child gets it twice within milliseconds. A person who
 * presses Ctrl-C twice takes longer.
 */
const sameSignalMs = 1_000

/** Calls `stop` at the first SIGTERM or SIGINT, and `force` at each that comes more than a second after it. */
export function onStopSignals(stop: () => void, force: () => void): void {
  let firstAtMs: number | undefined
  const onSignal = (): void => {
    if (firstAtMs === undefined) {
      firstAtMs = performance.now()
      stop()
    } else if (performance.now() - firstAtMs > sameSignalMs) force()
  }
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal)
}

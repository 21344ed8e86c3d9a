/**
 * A second signal within this time belongs to the first one: at Ctrl-C, a terminal signals npm and its child, and npm forwards the signal, so that the child
 * gets two within milliseconds.
 */
const sameSignalMs = 1_000

/** Calls `stop` at the first SIGTERM or SIGINT, `force` at a later one. */
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

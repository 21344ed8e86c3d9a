/**
 * A supervisor or a terminal signals a whole process group at once, and npm, which is in it, passes its own signal on to its child: the
 * child gets two within milliseconds. A person who asks twice takes longer.
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

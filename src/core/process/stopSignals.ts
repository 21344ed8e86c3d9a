/** At Ctrl-C, a terminal signals npm and its child, and npm forwards the signal: the child gets two within milliseconds. */
const sameSignalMs = 1_000

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

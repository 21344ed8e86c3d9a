/** A second signal within this time belongs to the first: at Ctrl-C, npm forwards the signal that the terminal sends to its child, too. */
const sameSignalMs = 1_000

/** `force`: at a later signal. */
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

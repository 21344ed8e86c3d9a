const pollMs = 500

/** The machine or the options do not allow a command to start. The message says what to change. */
export class UnsuitableSetUp extends Error {
  /** EX_CONFIG of sysexits. */
  readonly exitCode = 78
}

/**
 * `stopped` aborts at SIGINT, SIGTERM and SIGHUP, and when the parent process ends, even by a kill. A failure is printed, and sets the exit code:
 * that of the error, or 1.
 */
export const runInForeground = async (run: (stopped: AbortSignal) => Promise<void>): Promise<void> => {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort())
  // A failed write to a closed pipe must not end the command.
  for (const stream of [process.stdout, process.stderr]) stream.removeAllListeners('error').on('error', () => undefined)
  const parent = process.ppid
  const poll = setInterval(() => process.ppid !== parent && stop.abort(), pollMs)
  poll.unref()
  try {
    await run(stop.signal)
  } catch (error) {
    if (stop.signal.aborted && error === stop.signal.reason) return
    const { message, exitCode } = error as Error & { exitCode?: unknown }
    process.stderr.write(`${message}\n`)
    process.exitCode = typeof exitCode === 'number' ? exitCode : 1
  }
}

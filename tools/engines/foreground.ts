const pollMs = 500

/** What has to be changed before a command can start. */
export class UnsuitableSetUp extends Error {
  /** EX_CONFIG of sysexits. */
  readonly exitCode = 78
}

/**
 * Runs a command until it settles. `stopped` aborts at SIGINT, SIGTERM, SIGHUP, and when the parent process ends, however it ends. A
 * failure is printed and sets the exit code: its own `exitCode`, or 1.
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

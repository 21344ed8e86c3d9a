import type { ServerResponse } from 'node:http'

const queryDeadlineMs = 5_000

/** Runs a query until it answers, its time is over, or nobody waits for the answer any more. */
export async function withinDeadline<Answer>(
  response: ServerResponse,
  query: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const stop = new AbortController()
  const abort = (): void => stop.abort()
  const timer = setTimeout(abort, queryDeadlineMs)
  response.once('close', abort)
  try {
    return await query(stop.signal)
  } finally {
    clearTimeout(timer)
    response.off('close', abort)
  }
}

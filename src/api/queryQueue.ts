import { disconnectionOf, overCapacity } from './admission.ts'
import type { RouteMiddleware } from './context.ts'
import { FairQueue } from './fairQueue.ts'

/** Concurrent queries, in total and of one team. Elasticsearch answers no faster when it is sent more at once. */
const bounds = { maxRunning: 64, maxRunningPerTenant: 32, maxWaiting: 1_024, maxWaitMs: 2_000 }
const queryDeadlineMs = 5_000

/**
 * Gives every request its `runQuery`, which waits for the team's turn, and aborts the query at its deadline or when the client
 * disconnects.
 */
export function queueQueries(): RouteMiddleware {
  const queue = new FairQueue(bounds)
  return (ctx, next) => {
    let disconnected: AbortSignal | undefined
    ctx.state.runQuery = async (query) => {
      disconnected ??= disconnectionOf(ctx.res)
      const permit = await queue.acquire(ctx.state.holder.teamId, disconnected)
      if (typeof permit === 'string') throw overCapacity(`a query was not admitted (${permit})`)
      try {
        return await withDeadline(query, disconnected)
      } finally {
        permit()
      }
    }
    return next()
  }
}

async function withDeadline<Result>(
  query: (signal: AbortSignal) => Promise<Result>,
  disconnected: AbortSignal,
): Promise<Result> {
  const stop = new AbortController()
  const abort = (): void => stop.abort()
  const timer = setTimeout(abort, queryDeadlineMs)
  disconnected.addEventListener('abort', abort, { once: true })
  try {
    return await query(stop.signal)
  } finally {
    clearTimeout(timer)
    disconnected.removeEventListener('abort', abort)
  }
}

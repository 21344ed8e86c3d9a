import { overCapacity } from './admission.ts'
import type { RouteMiddleware } from './context.ts'
import { FairQueue } from './fairQueue.ts'
import { whenClosed } from './whenClosed.ts'

/** At once, in all and of a team. Elasticsearch answers no faster when it is asked more at once. */
const turns = { maxRunning: 64, maxRunningPerTenant: 32, maxWaiting: 1_024, maxWaitMs: 2_000 }
const questionDeadlineMs = 5_000

/** Lets teams look things up in turn, and hands every request its `runQuery`, which aborts a question when its time is over or nobody waits for it. */
export function queueQueries(): RouteMiddleware {
  const queue = new FairQueue(turns)
  return (ctx, next) => {
    const gone = new AbortController()
    whenClosed(ctx.res, () => {
      // What was answered has nothing left to abort, and an abort makes an error each time.
      if (!ctx.res.writableFinished) gone.abort()
    })
    ctx.state.runQuery = async (ask) => {
      const place = await queue.enter(ctx.state.holder.teamId, gone.signal)
      if (typeof place === 'string') throw overCapacity(`a question that waits for its turn is ${place}`)
      try {
        return await withinDeadline(ask, gone.signal)
      } finally {
        place()
      }
    }
    return next()
  }
}

async function withinDeadline<Answer>(
  ask: (signal: AbortSignal) => Promise<Answer>,
  gone: AbortSignal,
): Promise<Answer> {
  const stop = new AbortController()
  const abort = (): void => stop.abort()
  const timer = setTimeout(abort, questionDeadlineMs)
  gone.addEventListener('abort', abort, { once: true })
  try {
    return await ask(stop.signal)
  } finally {
    clearTimeout(timer)
    gone.removeEventListener('abort', abort)
  }
}

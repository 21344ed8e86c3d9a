import { disconnectionOf, overCapacity, type Release, whenClosed } from './admission.ts'
import type { RouteMiddleware } from './context.ts'
import { type ApiError, apiError } from './errors.ts'
import { FairQueue, type NotAdmitted } from './fairQueue.ts'
import { ElasticsearchUnavailable, type RunQuery } from './search/searchClient.ts'

const mebibyte = 1024 * 1024
/** What a query counts at least: so 64 run at once, 36 of one team. Elasticsearch answers no faster when it is sent more. */
const smallestBytes = 0.5 * mebibyte
/** How long a query may wait for its turn, and how long that, its answer and what is asked again may take. */
type Patience = { readonly maxWaitMs: number; readonly deadlineMs: number }
const ofPages: Patience = { maxWaitMs: 2_000, deadlineMs: 5_000 }
/** Nobody looks at an export while it comes, and what has begun must not break off because its team asks for much. */
const ofParts: Patience = { maxWaitMs: 30_000, deadlineMs: 35_000 }
const queues = { maxWaiting: 1_024, maxWaitMs: ofPages.maxWaitMs }
/**
 * Bytes that Elasticsearch is asked for at once, in total and by one team: parts of four exports and a page, or one row of 10 MB. Two of
 * these from each of two processes would take all threads of a small Elasticsearch.
 */
const asked = { ...queues, maxRunning: 32 * mebibyte, maxRunningPerTenant: 18 * mebibyte }
/** Bytes of whole answers, from before they are asked for until they are sent, in total and of one team. */
const held = { ...queues, maxRunning: 96 * mebibyte, maxRunningPerTenant: 32 * mebibyte }

/** Before Elasticsearch is asked again, when it had too much to do. */
const pausesMs = [50, 100, 200, 400, 800, 1_600]
/** Of what may be asked for at once: the least that is left, and what each success gives back. */
const smallestShare = 1 / 64
const regainedShare = 1 / 64
const retryAfterSeconds = 2

/**
 * Gives every request its `runQuery`, which waits for the team's turn, and aborts the query at its deadline or when the client
 * disconnects; `runPart`, which has more time; and `holdAnswer`. When Elasticsearch has too much to do, it is asked again, by the whole process for half as much at once.
 */
export function queueQueries(): RouteMiddleware {
  const [queries, answers] = [new FairQueue(asked), new FairQueue(held)]
  let share = 1
  const give = (next: number): void => {
    if (next === share) return
    share = next
    queries.open(next)
  }
  const attempt = async <Answer>(
    teamId: string,
    send: (signal: AbortSignal) => Promise<Answer>,
    bytes: number,
    maxWaitMs: number,
    signal: AbortSignal,
  ): Promise<Answer> => {
    const permit = admitted(await queries.acquire(teamId, signal, bytes, maxWaitMs), 'a query')
    try {
      // Given up in the same moment: nobody would hear of it any more.
      if (signal.aborted) throw overCapacity('a query was given up')
      const answer = await send(signal)
      give(Math.min(1, share + regainedShare))
      return answer
    } catch (error) {
      if (isOverload(error)) give(Math.max(smallestShare, share / 2))
      throw error
    } finally {
      permit()
    }
  }
  return (ctx, next) => {
    const { teamId } = ctx.state.holder
    let left: AbortSignal | undefined
    const disconnected = (): AbortSignal => (left ??= disconnectionOf(ctx.res))
    const runWith =
      ({ maxWaitMs, deadlineMs }: Patience): RunQuery =>
      (send, bytes = 0) => {
        const ask = (signal: AbortSignal) => attempt(teamId, send, Math.max(bytes, smallestBytes), maxWaitMs, signal)
        return withDeadline((signal) => againWhileOverloaded(() => ask(signal), signal), deadlineMs, disconnected())
      }
    ctx.state.runQuery = runWith(ofPages)
    ctx.state.runPart = runWith(ofParts)
    ctx.state.holdAnswer = async (bytes) => {
      whenClosed(ctx.res, admitted(await answers.acquire(teamId, disconnected(), bytes), 'an answer'))
    }
    return next()
  }
}

async function againWhileOverloaded<Answer>(ask: () => Promise<Answer>, signal: AbortSignal): Promise<Answer> {
  for (const pauseMs of pausesMs) {
    try {
      return await ask()
    } catch (error) {
      if (!isOverload(error)) throw error
      await pause(pauseMs, signal)
      if (signal.aborted) throw error
    }
  }
  return await ask()
}

/** Resolves after so long, at once when `signal` aborts. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  signal.addEventListener('abort', () => resolve(), { once: true })
  return promise.finally(() => clearTimeout(timer))
}

const isOverload = (error: unknown): boolean =>
  error instanceof ElasticsearchUnavailable && error.reason === 'overloaded'

/** The permit; or throws why there is none. */
function admitted(permit: Release | NotAdmitted, what: string): Release {
  if (permit === 'own-share')
    throw teamIsBusy('the team is asking for too much at once; retry when it has been answered')
  if (typeof permit === 'string') throw overCapacity(`${what} was not admitted (${permit})`)
  return permit
}

/** The error of a request for which a team's own requests leave no room. */
export const teamIsBusy = (message: string): ApiError =>
  apiError('rate_limited', message, {
    headers: { 'Retry-After': String(retryAfterSeconds) },
    rejection: 'rate_limited',
  })

async function withDeadline<Result>(
  query: (signal: AbortSignal) => Promise<Result>,
  deadlineMs: number,
  disconnected: AbortSignal,
): Promise<Result> {
  const stop = new AbortController()
  const abort = (): void => stop.abort()
  if (disconnected.aborted) abort()
  const timer = setTimeout(abort, deadlineMs)
  disconnected.addEventListener('abort', abort, { once: true })
  try {
    return await query(stop.signal)
  } finally {
    clearTimeout(timer)
    disconnected.removeEventListener('abort', abort)
  }
}

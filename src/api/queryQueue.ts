import { setTimeout as sleep } from 'node:timers/promises'
import type { RouteMiddleware } from './context.ts'
import { unavailable } from './errors.ts'
import { FairQueue, type Permit } from './fairQueue.ts'
import { granted, whenClosed } from './requestsInFlight.ts'
import { ElasticsearchUnavailable, type RunQuery } from './search/searchClient.ts'

const mebibyte = 1024 * 1024
/** What a query counts at least: so 64 run at once, 36 of one team. Elasticsearch answers no faster when it is sent more. */
const smallestBytes = 0.5 * mebibyte
/** How long a query may wait for its turn, and how long that and all its attempts may take. */
const ofPages = { maxWaitMs: 2_000, deadlineMs: 5_000 }
/** Nobody watches an export arrive, and one that has begun must not break off because its team asks for much. */
const ofParts = { maxWaitMs: 30_000, deadlineMs: 35_000 }
const queues = { maxWaiting: 1_024, maxWaitMs: ofPages.maxWaitMs }
/**
 * Bytes that Elasticsearch is asked for at once, in total and by one team: parts of four exports and a page, or one row of 10 MB. Two of
 * these from each of two processes would take all threads of a small Elasticsearch.
 */
const asked = { ...queues, maxRunning: 32 * mebibyte, maxRunningPerTenant: 18 * mebibyte }
/** Bytes of whole answers, from before the query until they are sent, in total and of one team. */
const held = { ...queues, maxRunning: 96 * mebibyte, maxRunningPerTenant: 32 * mebibyte }

export const answerQueue = () => new FairQueue(held)

/** Before each further attempt while Elasticsearch is overloaded. */
const pausesMs = [50, 100, 200, 400, 800, 1_600]
/** The lowest share of what may be asked for at once, and how much each success raises it. */
const shareStep = 1 / 64

/**
 * Gives every request its `runQuery`, which waits for the team's turn, and aborts the query at its deadline or when the client
 * disconnects; `runPart`, which has more time; and `holdAnswer`. A query that overloads Elasticsearch is repeated, and the whole process then
 * asks for half as much at once.
 */
export function queueQueries(answers = answerQueue()): RouteMiddleware {
  const queries = new FairQueue(asked)
  return (ctx, next) => {
    const { teamId } = ctx.state.holder
    const runWith =
      ({ maxWaitMs, deadlineMs }: typeof ofPages): RunQuery =>
      async (send, bytes = 0) => {
        const query = new AbortController()
        const giveUp = (): void => query.abort()
        const timer = setTimeout(giveUp, deadlineMs)
        whenClosed(ctx.res, giveUp)
        const turn = () => queries.acquire(teamId, query.signal, Math.max(bytes, smallestBytes), maxWaitMs)
        return await ask(queries, turn, send, query.signal).finally(() => {
          clearTimeout(timer)
          ctx.res.off('close', giveUp)
        })
      }
    ctx.state.runQuery = runWith(ofPages)
    ctx.state.runPart = runWith(ofParts)
    let heldBytes = 0
    ctx.state.holdAnswer = async (bytes) => {
      const more = bytes - heldBytes
      if (more <= 0) return () => undefined
      const waiting = new AbortController()
      const giveUp = (): void => waiting.abort()
      whenClosed(ctx.res, giveUp)
      const permit = await answers.acquire(teamId, waiting.signal, more)
      ctx.res.off('close', giveUp)
      const release = granted(permit, 'answers')
      heldBytes += more
      whenClosed(ctx.res, release)
      return () => {
        if (ctx.res.closed) return
        ctx.res.off('close', release)
        heldBytes -= more
        release()
      }
    }
    return next()
  }
}

/** Sends a query in its turn, again while Elasticsearch is overloaded. */
async function ask<Answer>(
  queries: FairQueue,
  turn: () => Promise<Permit>,
  send: (signal: AbortSignal) => Promise<Answer>,
  signal: AbortSignal,
): Promise<Answer> {
  for (let attempt = 0; ; attempt++) {
    const release = granted(await turn(), 'queries')
    let overload: unknown
    try {
      // Given up at the moment of its turn.
      if (signal.aborted) throw unavailable('capacity', new Error('a query was given up'))
      const answer = await send(signal)
      queries.open(Math.min(1, queries.share + shareStep))
      return answer
    } catch (error) {
      if (!(error instanceof ElasticsearchUnavailable && error.reason === 'overloaded')) throw error
      queries.open(Math.max(shareStep, queries.share / 2))
      overload = error
    } finally {
      release()
    }
    const pauseMs = pausesMs[attempt]
    if (pauseMs === undefined) throw overload
    await sleep(pauseMs, undefined, { signal }).catch(() => {
      throw overload
    })
  }
}

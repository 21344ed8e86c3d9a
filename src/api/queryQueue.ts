import { setTimeout as sleep } from 'node:timers/promises'
import type { RouteMiddleware } from './context.ts'
import { unavailable } from './errors.ts'
import { FairQueue, type Permit } from './fairQueue.ts'
import { releaseOrThrow, whenClosed } from './requestsInFlight.ts'
import { ElasticsearchUnavailable, type RunQuery } from './search/searchClient.ts'

const mebibyte = 1024 * 1024
/** The least weight of a query: at most 64 queries run at once, 36 of one team. With more, Elasticsearch answers no faster. */
const smallestBytes = 0.5 * mebibyte
/** `maxWaitMs`: for one wait for the team's turn. `deadlineMs`: for all waits and attempts of a query together. */
interface QueryTimes {
  readonly maxWaitMs: number
  readonly deadlineMs: number
}

const ofPages: QueryTimes = { maxWaitMs: 2_000, deadlineMs: 5_000 }
/** Longer than for pages, because a busy team's queries must not break off its own export. */
const ofParts: QueryTimes = { maxWaitMs: 30_000, deadlineMs: 35_000 }
const queues = { maxWaiting: 1_024, maxWaitMs: ofPages.maxWaitMs }
/**
 * The most bytes of queries in flight, in total and of one team. A team may read parts of four exports and a page at once, or one row of 10 MB. Two
 * rows of 10 MB from each of two processes would occupy all threads of a small Elasticsearch.
 */
const queryBytes = { ...queues, maxRunning: 32 * mebibyte, maxRunningPerTenant: 18 * mebibyte }
/** The most bytes of whole answers, reserved from the query until the answer is sent. */
const answerBytes = { ...queues, maxRunning: 96 * mebibyte, maxRunningPerTenant: 32 * mebibyte }

export const answerQueue = () => new FairQueue(answerBytes)

const pausesMs = [50, 100, 200, 400, 800, 1_600]
/** A successful query opens so much more of `queryBytes`. After overloads, at least this part stays open. */
const partStep = 1 / 64

/**
 * Sets `runQuery`, `runPart` and `holdAnswer` of `RouteState`. A query waits for its team's turn, and is aborted at its deadline or when its client
 * disconnects. While Elasticsearch is overloaded, the query is repeated, and the process may have fewer bytes in flight.
 */
export function queueQueries(answers = answerQueue()): RouteMiddleware {
  const queries = new FairQueue(queryBytes)
  return (ctx, next) => {
    const { teamId } = ctx.state.holder
    const runWith =
      ({ maxWaitMs, deadlineMs }: QueryTimes): RunQuery =>
      async (send, bytes = 0) => {
        const query = new AbortController()
        const giveUp = (): void => query.abort()
        const timer = setTimeout(giveUp, deadlineMs)
        whenClosed(ctx.res, giveUp)
        const turn = () => queries.acquire(teamId, query.signal, Math.max(bytes, smallestBytes), maxWaitMs)
        return await sendInTurn(queries, turn, send, query.signal).finally(() => {
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
      const release = releaseOrThrow(permit, 'answers')
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

async function sendInTurn<Answer>(
  queries: FairQueue,
  turn: () => Promise<Permit>,
  send: (signal: AbortSignal) => Promise<Answer>,
  signal: AbortSignal,
): Promise<Answer> {
  for (let attempt = 0; ; attempt++) {
    const release = releaseOrThrow(await turn(), 'queries')
    let overload: unknown
    try {
      // The query was aborted at the moment of its turn.
      if (signal.aborted) throw unavailable('capacity', new Error('a query was given up'))
      const answer = await send(signal)
      queries.open(Math.min(1, queries.openPart + partStep))
      return answer
    } catch (error) {
      if (!(error instanceof ElasticsearchUnavailable && error.reason === 'overloaded')) throw error
      queries.open(Math.max(partStep, queries.openPart / 2))
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

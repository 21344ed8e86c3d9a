import { setTimeout as sleep } from 'node:timers/promises'
import type { TeamId } from '../core/model/ids.ts'
import type { RouteContext, RouteMiddleware } from './context.ts'
import { unavailable } from './errors.ts'
import { FairQueue, type Permit } from './fairQueue.ts'
import { releaseOrThrow, whenClosed } from './requestsInFlight.ts'
import type { QueryTurns, RunQuery } from './search/queryTurns.ts'
import { ElasticsearchUnavailable } from './search/searchClient.ts'

const mebibyte = 1024 * 1024
/** A query counts as at least this: so at most 64 run at once, 36 of one team. With more, Elasticsearch answers no faster. */
const leastQueryBytes = 0.5 * mebibyte
/** `maxWaitMs`: of one wait for the team's turn. `deadlineMs`: of all waits and attempts of a query. */
interface QueryTimes {
  readonly maxWaitMs: number
  readonly deadlineMs: number
}

/** For whole answers. */
const pageTimes: QueryTimes = { maxWaitMs: 2_000, deadlineMs: 5_000 }
/** For parts of streamed answers: longer, because a busy team's queries must not break off its export. */
const partTimes: QueryTimes = { maxWaitMs: 30_000, deadlineMs: 35_000 }
const queueBounds = { maxWaiting: 1_024, maxWaitMs: pageTimes.maxWaitMs }
/**
 * Of queries in flight. A team may read parts of four exports and a page at once, or one row of 10 MB: with two such rows from each of two processes,
 * it would occupy all threads of a small Elasticsearch.
 */
const queryBytes = { ...queueBounds, maxRunning: 32 * mebibyte, maxRunningPerTeam: 18 * mebibyte }
/** Of whole answers in memory, from before the query until the answer is sent. */
const answerBytes = { ...queueBounds, maxRunning: 96 * mebibyte, maxRunningPerTeam: 32 * mebibyte }

export const answerQueue = () => new FairQueue(answerBytes)

/** Before repetitions of a query that found Elasticsearch overloaded. */
const pausesMs = [50, 100, 200, 400, 800, 1_600]
/** Each overload halves `openFraction` of the queue, down to this fraction; each successful query adds this fraction. */
const fractionStep = 1 / 64

/** Sets `turns` of `RouteState`. */
export function queueQueries(answers = answerQueue()): RouteMiddleware {
  const queries = new FairQueue(queryBytes)
  return (ctx, next) => {
    ctx.state.turns = new RequestTurns(queries, answers, ctx.state.accountKey.teamId, ctx.res)
    return next()
  }
}

class RequestTurns implements QueryTurns {
  readonly #queries: FairQueue
  readonly #answers: FairQueue
  readonly #teamId: TeamId
  readonly #response: RouteContext['res']
  #reservedBytes = 0

  constructor(queries: FairQueue, answers: FairQueue, teamId: TeamId, response: RouteContext['res']) {
    this.#queries = queries
    this.#answers = answers
    this.#teamId = teamId
    this.#response = response
  }

  readonly run: RunQuery = (send, mostBytes) => this.#runWithin(pageTimes, send, mostBytes)

  readonly runPart: RunQuery = (send, mostBytes) => this.#runWithin(partTimes, send, mostBytes)

  /** `bytes`: of all answers of the request. Acquires what is not reserved yet; the returned function releases it, as does the end of the response. */
  async reserve(bytes: number): Promise<() => void> {
    const addedBytes = bytes - this.#reservedBytes
    if (addedBytes <= 0) return () => undefined
    const response = this.#response
    const waiting = new AbortController()
    const stopWaiting = (): void => waiting.abort()
    whenClosed(response, stopWaiting)
    const permit = await this.#answers.acquire(this.#teamId, waiting.signal, addedBytes)
    response.off('close', stopWaiting)
    const release = releaseOrThrow(permit, 'answers')
    this.#reservedBytes += addedBytes
    whenClosed(response, release)
    return () => {
      // The end of the response has released it.
      if (response.closed) return
      response.off('close', release)
      this.#reservedBytes -= addedBytes
      release()
    }
  }

  async #runWithin<Answer>(
    { maxWaitMs, deadlineMs }: QueryTimes,
    send: (signal: AbortSignal) => Promise<Answer>,
    mostBytes = 0,
  ): Promise<Answer> {
    const query = new AbortController()
    const abort = (): void => query.abort()
    const timer = setTimeout(abort, deadlineMs)
    whenClosed(this.#response, abort)
    const waitForTurn = () =>
      this.#queries.acquire(this.#teamId, query.signal, Math.max(mostBytes, leastQueryBytes), maxWaitMs)
    return await sendInTurn(this.#queries, waitForTurn, send, query.signal).finally(() => {
      clearTimeout(timer)
      this.#response.off('close', abort)
    })
  }
}

async function sendInTurn<Answer>(
  queries: FairQueue,
  waitForTurn: () => Promise<Permit>,
  send: (signal: AbortSignal) => Promise<Answer>,
  signal: AbortSignal,
): Promise<Answer> {
  for (let attempt = 0; ; attempt++) {
    const release = releaseOrThrow(await waitForTurn(), 'queries')
    let overload: unknown
    try {
      // The deadline has passed, or the client has disconnected, just when the turn came.
      if (signal.aborted) throw unavailable('capacity', new Error('a query was given up'))
      const answer = await send(signal)
      queries.open(Math.min(1, queries.openFraction + fractionStep))
      return answer
    } catch (error) {
      if (!(error instanceof ElasticsearchUnavailable && error.reason === 'overloaded')) throw error
      queries.open(Math.max(fractionStep, queries.openFraction / 2))
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

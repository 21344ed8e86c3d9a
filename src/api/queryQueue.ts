import { setTimeout as sleep } from 'node:timers/promises'
import type { TeamId } from '../core/model/ids.ts'
import type { RouteContext, RouteMiddleware } from './context.ts'
import { unavailable } from './errors.ts'
import { FairQueue, type Permit } from './fairQueue.ts'
import { releaseOrThrow, whenClosed } from './requestsInFlight.ts'
import type { QueryTurns, RunQuery } from './search/queryTurns.ts'
import { ElasticsearchUnavailable } from './search/searchClient.ts'

const mebibyte = 1024 * 1024
/** The least weight of a query: at most 64 queries run at once, 36 of one team. With more, Elasticsearch answers no faster. */
const smallestBytes = 0.5 * mebibyte
/** `maxWaitMs`: for one wait for the team's turn. `deadlineMs`: for all waits and attempts of a query together. */
interface QueryTimes {
  readonly maxWaitMs: number
  readonly deadlineMs: number
}

const pageTimes: QueryTimes = { maxWaitMs: 2_000, deadlineMs: 5_000 }
/** Longer than for pages, because a busy team's queries must not break off the team's export. */
const partTimes: QueryTimes = { maxWaitMs: 30_000, deadlineMs: 35_000 }
const queueBounds = { maxWaiting: 1_024, maxWaitMs: pageTimes.maxWaitMs }
/**
 * The most bytes of queries in flight, in total and of one team. A team may read parts of four exports and a page at once, or one row of 10 MB. Two
 * rows of 10 MB from each of two processes would occupy all threads of a small Elasticsearch.
 */
const queryBytes = { ...queueBounds, maxRunning: 32 * mebibyte, maxRunningPerTeam: 18 * mebibyte }
/** The most bytes of whole answers, reserved from the query until the answer is sent. */
const answerBytes = { ...queueBounds, maxRunning: 96 * mebibyte, maxRunningPerTeam: 32 * mebibyte }

export const answerQueue = () => new FairQueue(answerBytes)

const pausesMs = [50, 100, 200, 400, 800, 1_600]
/** A successful query opens so much more of `queryBytes`. After overloads, at least this part stays open. */
const partStep = 1 / 64

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

  readonly run: RunQuery = (send, bytes) => this.#runWithin(pageTimes, send, bytes)

  readonly runPart: RunQuery = (send, bytes) => this.#runWithin(partTimes, send, bytes)

  async reserve(bytes: number): Promise<() => void> {
    const addedBytes = bytes - this.#reservedBytes
    if (addedBytes <= 0) return () => undefined
    const response = this.#response
    const waiting = new AbortController()
    const giveUp = (): void => waiting.abort()
    whenClosed(response, giveUp)
    const permit = await this.#answers.acquire(this.#teamId, waiting.signal, addedBytes)
    response.off('close', giveUp)
    const release = releaseOrThrow(permit, 'answers')
    this.#reservedBytes += addedBytes
    whenClosed(response, release)
    return () => {
      if (response.closed) return
      response.off('close', release)
      this.#reservedBytes -= addedBytes
      release()
    }
  }

  async #runWithin<Answer>(
    { maxWaitMs, deadlineMs }: QueryTimes,
    send: (signal: AbortSignal) => Promise<Answer>,
    bytes = 0,
  ): Promise<Answer> {
    const query = new AbortController()
    const giveUp = (): void => query.abort()
    const timer = setTimeout(giveUp, deadlineMs)
    whenClosed(this.#response, giveUp)
    const waitForTurn = () =>
      this.#queries.acquire(this.#teamId, query.signal, Math.max(bytes, smallestBytes), maxWaitMs)
    return await sendInTurn(this.#queries, waitForTurn, send, query.signal).finally(() => {
      clearTimeout(timer)
      this.#response.off('close', giveUp)
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

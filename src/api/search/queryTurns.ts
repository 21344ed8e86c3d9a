/** Resolves with what `send` resolves with. `bytes`: the most that the query returns. `signal` aborts at the query's deadline. */
export type RunQuery = <Answer>(send: (signal: AbortSignal) => Promise<Answer>, bytes?: number) => Promise<Answer>

/**
 * Lets one request query Elasticsearch, and reserve memory for its answer, in its team's turn (`queryQueue.ts`). While Elasticsearch is
 * overloaded, a query is repeated, up to six times and until its deadline. Without a turn in time, rejects: with 429 if the team uses its whole share,
 * with 503 if other teams use the room. Everything that waits or runs is aborted when the client disconnects.
 */
export interface QueryTurns {
  /** Runs a query for a whole answer: waits up to two seconds for a turn, and ends five seconds after the call. */
  readonly run: RunQuery
  /** Runs a query for a part of a streamed answer: waits up to 30 seconds for a turn, and ends 35 seconds after the call. */
  readonly runPart: RunQuery
  /**
   * Reserves memory for a whole answer; waits up to two seconds. A later call with more bytes reserves the difference. The returned function, or the
   * end of the response, releases what this call has reserved.
   */
  reserve(bytes: number): Promise<() => void>
}

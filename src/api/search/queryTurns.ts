/** Calls `send`, and resolves with its result. `mostBytes`: the most that the query returns. `signal` aborts at the query's deadline. */
export type RunQuery = <Answer>(send: (signal: AbortSignal) => Promise<Answer>, mostBytes?: number) => Promise<Answer>

/**
 * By these functions a request waits for its team's turn (`queryQueue.ts`): to query Elasticsearch, and to reserve memory for its answer. They reject
 * if the turn does not come in time: with 429 if the team uses its whole share, with 503 if other teams use all capacity. A query that finds
 * Elasticsearch overloaded is repeated, up to six times and until its deadline. When the client disconnects, all that waits or runs is aborted.
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

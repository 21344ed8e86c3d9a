/** `mostBytes`: the most that the query returns. `signal` aborts at its deadline. */
export type RunQuery = <Answer>(send: (signal: AbortSignal) => Promise<Answer>, mostBytes?: number) => Promise<Answer>

/**
 * A request waits for its team's turn (`queryQueue.ts`) to query, and to reserve memory for its answer. If the turn does not come in time, it
 * rejects: with 429 if the team uses its whole share, with 503 if other teams use all capacity. While Elasticsearch is overloaded, a query is
 * repeated, up to six times and until its deadline. When the client disconnects, everything is aborted.
 */
export interface QueryTurns {
  /** For a whole answer: waits up to two seconds for a turn, ends five seconds after the call. */
  readonly run: RunQuery
  /** For a part of a streamed answer: waits up to 30 seconds, ends 35 seconds after the call. */
  readonly runPart: RunQuery
  /**
   * For a whole answer; waits up to two seconds. A later call with more bytes reserves the difference. The returned function, or the end of the
   * response, releases what this call reserved.
   */
  reserve(bytes: number): Promise<() => void>
}

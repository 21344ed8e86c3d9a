/** `mostBytes`: the most that the query returns. `signal` aborts at its deadline. */
export type RunQuery = <Answer>(send: (signal: AbortSignal) => Promise<Answer>, mostBytes?: number) => Promise<Answer>

/**
 * A request waits for its team's turn (`queryQueue.ts`). If the turn does not come in time, rejects with 429 if the team uses its whole share, with
 * 503 if other teams use all capacity. While Elasticsearch is overloaded, a query is repeated, up to six times. When the client disconnects, all is
 * aborted.
 */
export interface QueryTurns {
  /** For a whole answer: waits two seconds at most for a turn, and ends after five. */
  readonly run: RunQuery
  /** For a part of a streamed answer: waits 30 seconds at most, and ends after 35. */
  readonly runPart: RunQuery
  /**
   * Reserves memory; waits up to two seconds. A later call with more bytes reserves the difference. The returned function, or the end of the
   * response, releases it.
   */
  reserve(bytes: number): Promise<() => void>
}

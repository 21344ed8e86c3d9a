/**
 * Runs one query in the team's turn, again if Elasticsearch has too much to do; `signal` aborts it at its deadline. `bytes`: at most how many it
 * returns, a few unless told. Answers that may be large are counted until they are sent.
 */
export type RunQuery = <Answer>(send: (signal: AbortSignal) => Promise<Answer>, bytes?: number) => Promise<Answer>

/** Runs one query in the team's turn; `signal` aborts it at its own deadline. */
export type RunQuery = <Answer>(send: (signal: AbortSignal) => Promise<Answer>) => Promise<Answer>

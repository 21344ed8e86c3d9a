export type HttpRequest = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Any other one ends the bench. */
  readonly expectedStatus: number
}

export type SqlQuery = {
  /** The name of its prepared statement. */
  readonly name: string
  readonly text: string
  readonly values: readonly (string | number)[]
}

export type SqlAddress = {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly database: string
}

/** Whom to ask what: the questions of one turn are asked together, and it is over when all are answered. */
export type Target =
  | { readonly kind: 'http'; readonly origin: string; readonly turns: readonly (readonly HttpRequest[])[] }
  | { readonly kind: 'postgres'; readonly address: SqlAddress; readonly turns: readonly (readonly SqlQuery[])[] }

export type Pace = {
  /** Turns under way. */
  readonly atOnce: number
  /** Taken first, and not counted. */
  readonly leadInTurns: number
  /** Whichever is reached first ends it. */
  readonly maxTurns: number
  readonly maxMs: number
}

/** The turns of the target, from the first one again when they run out, at a pace. */
export type Job = { readonly target: Target; readonly pace: Pace }

export type Outcome = {
  /** Of each counted turn. */
  readonly latenciesMs: readonly number[]
  readonly elapsedMs: number
  /** How much of that time the load generator itself was at work, 0 to 1. */
  readonly busyShare: number
}

/** How many connections idle, and how often that is measured. */
export type IdleSize = {
  /** Rising: each opens what is missing of it. */
  readonly connections: readonly number[]
  /** Requests before the first of them, so that what a server needs anyhow is there. */
  readonly warmUpRequests: number
  /** Between the last answer and the look at the memory. */
  readonly settleMs: number
  readonly rounds: { readonly warmUps: number; readonly measured: number }
}

export const idleSize: IdleSize = {
  connections: [2_000, 10_000],
  warmUpRequests: 5_000,
  settleMs: 3_000,
  rounds: { warmUps: 0, measured: 3 },
}

export const mostOf = ({ connections }: IdleSize): number => connections.at(-1) ?? 0

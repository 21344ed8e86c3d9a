/** How much polls, and how long. */
export type MixedSize = {
  readonly teams: number
  readonly writesPerSecond: number
  /** Requests a second of all teams together; 0, the first, is what writer and probes cost alone. */
  readonly paces: readonly number[]
  readonly leadInMs: number
  readonly measuredMs: number
  readonly rounds: { readonly warmUps: number; readonly measured: number }
}

export const mixedSize: MixedSize = {
  teams: 200,
  writesPerSecond: 50,
  paces: [0, 200, 400],
  leadInMs: 2_000,
  measuredMs: 30_000,
  rounds: { warmUps: 1, measured: 3 },
}

/** How much is measured. */
export type Size = {
  /** What most contenders bring from Kafka in a round. */
  readonly records: number
  /** Of the same records the first ones: where memory must not have grown, and where settings are tried. */
  readonly fewerRecords: number
  /** What contenders warm up with, and all that the slowest one brings in a round. */
  readonly fewestRecords: number
  readonly rounds: { readonly warmUps: number; readonly measured: number }
  /** Of each rate of events. */
  readonly freshness: { readonly warmUpMs: number; readonly measuredMs: number }
}

export const fullSize: Size = {
  records: 300_000,
  fewerRecords: 100_000,
  fewestRecords: 20_000,
  rounds: { warmUps: 1, measured: 3 },
  freshness: { warmUpMs: 5_000, measuredMs: 30_000 },
}

/** Goes through everything in a few minutes; its figures mean little. */
export const smallSize: Size = {
  records: 12_000,
  fewerRecords: 6_000,
  fewestRecords: 2_000,
  rounds: { warmUps: 0, measured: 1 },
  freshness: { warmUpMs: 1_000, measuredMs: 4_000 },
}

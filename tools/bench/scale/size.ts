/** How much is measured. */
export type Size = {
  /** Submissions of each index of the first series. */
  readonly documents: readonly number[]
  /** Teams over which the same submissions are spread, and how many these are. */
  readonly teams: readonly number[]
  readonly spreadDocuments: number
  /** Primary shards over which the same submissions are spread, and how many these are. */
  readonly shards: readonly number[]
  readonly shardedDocuments: number
  /** Details and forms are stored up to this many submissions. */
  readonly mostWithDetails: number
  /** What an indexer brings from Kafka into empty indices, each time. */
  readonly indexedRecords: number
  /** Teams and keys that Redis is filled with. */
  readonly redisTeams: number
  readonly rounds: { readonly warmUps: number; readonly measured: number }
  /** An indexer is run so often in each setting, and so often is CPU time taken. */
  readonly costRounds: { readonly warmUps: number; readonly measured: number }
}

export const fullSize: Size = {
  documents: [10_000, 100_000, 1_000_000],
  teams: [10, 1_000, 10_000],
  spreadDocuments: 100_000,
  shards: [1, 4, 16],
  shardedDocuments: 60_000,
  mostWithDetails: 100_000,
  indexedRecords: 40_000,
  redisTeams: 10_000,
  rounds: { warmUps: 1, measured: 5 },
  costRounds: { warmUps: 0, measured: 3 },
}

/** Goes through everything in a few minutes; its figures mean little. */
export const smallSize: Size = {
  documents: [10_000, 20_000],
  teams: [10, 1_000],
  spreadDocuments: 10_000,
  shards: [1, 4],
  shardedDocuments: 12_000,
  mostWithDetails: 10_000,
  indexedRecords: 10_000,
  redisTeams: 1_000,
  rounds: { warmUps: 0, measured: 2 },
  costRounds: { warmUps: 0, measured: 1 },
}

import type { Size } from './size.ts'
import type { World } from './world.ts'

export type Plan = {
  readonly documents: readonly World[]
  readonly teams: readonly World[]
  readonly shards: readonly World[]
}

const teamsOfDocuments = 1_000
const teamsOfShards = 1_000

/** The worlds of each series; in each, they differ in one thing. */
export const planWorlds = (size: Size): Plan => ({
  documents: size.documents.map((submissions) => ({
    name: `by-documents-${submissions}`,
    submissions,
    teams: teamsOfDocuments,
    shards: 1,
    hasDetails: submissions <= size.mostWithDetails,
  })),
  teams: size.teams.map((teams) => ({
    name: `by-teams-${teams}`,
    submissions: size.spreadDocuments,
    teams,
    shards: 1,
    hasDetails: false,
  })),
  shards: size.shards.map((shards) => ({
    name: `by-shards-${shards}`,
    submissions: size.shardedDocuments,
    teams: teamsOfShards,
    shards,
    hasDetails: false,
  })),
})

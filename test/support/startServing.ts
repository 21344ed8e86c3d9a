import type { Pipeline } from './pipeline.ts'
import type { Program } from './programs.ts'
import type { HistoryRecord } from './randomHistory.ts'

type Served = {
  readonly teams: readonly string[]
  readonly records?: readonly HistoryRecord[]
  readonly indexerSettings?: Readonly<Record<string, string>>
}

/** Starts an indexer and an API, creates a key for each team, appends the records, and waits until the API serves all of this. */
export async function startServing(
  pipeline: Pipeline,
  { teams, records = [], indexerSettings }: Served,
): Promise<{ readonly indexer: Program; readonly api: Program }> {
  const indexer = await pipeline.startIndexer(indexerSettings)
  await pipeline.createKeys(teams)
  await pipeline.produceHistory(records)
  const api = await pipeline.startApi()
  for (const team of teams) await pipeline.untilApplied(api, team)
  return { indexer, api }
}

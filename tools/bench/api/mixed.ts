import { connectElasticsearch } from '../../../src/core/stores/elasticsearch.ts'
import type { Part } from '../results.ts'
import type { Stage } from '../stage.ts'
import { costsOf, samplesOf, sectionsOf, verdictsOn } from './mixed/figures.ts'
import { measureMixed } from './mixed/measure.ts'
import { probesFor } from './mixed/probes.ts'
import type { MixedSize } from './mixed/size.ts'
import { raisePollingTeams } from './mixed/teams.ts'
import type { ServedReplica } from './replica.ts'

/** Measures many teams that poll as scripts do while changes are written, and beside them what is measured at rest. */
export async function benchMixed(
  stage: Stage,
  replica: ServedReplica,
  bareOrigin: string,
  size: MixedSize,
): Promise<Part> {
  const client = connectElasticsearch(stage.config)
  stage.release(() => client.close())
  const { teams, forms } = await raisePollingTeams(replica, stage, size.teams)
  const usual = teams.at(-1)
  if (usual === undefined) throw new Error('there are no polling teams')
  const pollers = { origin: replica.origin, teams, probes: probesFor(replica, bareOrigin, usual, stage) }
  const runs = await measureMixed({ stage, client, replica, pollers, forms }, size)
  return {
    sections: sectionsOf(runs),
    samples: samplesOf(runs),
    counts: costsOf(runs),
    verdicts: verdictsOn(runs),
  }
}

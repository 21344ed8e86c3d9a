import { connectElasticsearch } from '../../src/core/elasticsearch/elasticsearch.ts'
import {
  type Clients,
  SimulatedElasticsearch,
  simulatedClients,
} from '../simulation/engines/elasticsearch/simulatedElasticsearch.ts'
import { localHost, localNetwork } from '../simulation/network.ts'
import { testConfig } from './config.ts'
import { createWithMissingShards, giveMissingShards } from './missingShards.ts'
import { seeded } from './random.ts'

type WithMissing = Clients & {
  /** Creates indices under a pattern, in which only one shard has a copy. Resolves with a function that gives the others a copy. */
  createMissing(pattern: string, create: () => Promise<unknown>): Promise<() => Promise<unknown>>
}

/** Connects to the Elasticsearch shared by all tests. */
export function connectReal(): WithMissing {
  const elasticsearch = connectElasticsearch(testConfig({}))
  const createMissing = async (pattern: string, create: () => Promise<unknown>) => {
    await createWithMissingShards(elasticsearch, pattern)
    await create()
    return () => giveMissingShards(elasticsearch, pattern)
  }
  return { elasticsearch, createMissing }
}

/** Connects to a new simulated Elasticsearch, on the clock of this machine. */
export function connectSimulated(): WithMissing {
  const simulated = new SimulatedElasticsearch(localHost(seeded(1).next))
  const setMissing = (pattern: string, isMissing: boolean): void => {
    for (const { shards } of simulated.catalog.find([pattern]))
      for (const { copies } of shards.slice(1)) for (const copy of copies) copy.isActive = !isMissing
  }
  const createMissing = async (pattern: string, create: () => Promise<unknown>) => {
    await create()
    setMissing(pattern, true)
    return async () => setMissing(pattern, false)
  }
  return { ...simulatedClients(simulated, localNetwork), createMissing }
}

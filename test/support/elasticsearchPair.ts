import { connectElasticsearch } from '../../src/core/stores/elasticsearch.ts'
import {
  type Clients,
  SimulatedElasticsearch,
  simulatedClients,
} from '../simulation/engines/elasticsearch/simulatedElasticsearch.ts'
import { localHost, localNetwork } from '../simulation/network.ts'
import { testConfig } from './config.ts'
import { seeded } from './random.ts'

/** Connects to the Elasticsearch shared by all tests. */
export const connectReal = (): Clients => ({ elasticsearch: connectElasticsearch(testConfig({})) })

/** Connects to a new simulated Elasticsearch, on the clock of this machine. */
export const connectSimulated = (): Clients =>
  simulatedClients(new SimulatedElasticsearch(localHost(seeded(1).next)), localNetwork)

import { Client } from '@elastic/elasticsearch'
import { defaultRequestTimeoutMs, RawSerializer } from '../../../../src/core/stores/elasticsearch.ts'
import type { Network } from '../../network.ts'
import type { SimulatedElasticsearch } from './simulatedElasticsearch.ts'

export type Clients = {
  /** Parses responses. */
  readonly elasticsearch: Client
  /** Its responses are raw bytes of JSON. */
  readonly bytes: Client
}

/** The clients of `src/core/stores/elasticsearch.ts`, connected with a simulated Elasticsearch. */
export function simulatedClients(simulated: SimulatedElasticsearch, network: Network): Clients {
  const options = {
    node: 'http://simulated',
    maxRetries: 0,
    requestTimeout: defaultRequestTimeoutMs,
    Connection: simulated.connectionFor(network),
  }
  return {
    elasticsearch: new Client(options),
    bytes: new Client({
      ...options,
      Serializer: RawSerializer,
      Connection: simulated.connectionFor(network, { bytes: true }),
    }),
  }
}

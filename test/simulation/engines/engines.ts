import type { Engines } from '../../../src/core/engines/engines.ts'
import type { EngineName } from '../network.ts'
import type { World } from '../world/world.ts'
import { SimulatedElasticsearch, simulatedClients } from './elasticsearch/simulatedElasticsearch.ts'
import { SimulatedKafka } from './kafka/simulatedKafka.ts'
import { SimulatedRedis } from './redis/simulatedRedis.ts'

/** Clock offset of each engine (ms). */
type ClockOffsets = Record<EngineName, number>

/** The simulated engines: as the product's clients see them, and for inspection by tests. */
export type SimulatedEngines = Engines & {
  readonly simulatedKafka: SimulatedKafka
  readonly simulatedElasticsearch: SimulatedElasticsearch
  readonly simulatedRedis: SimulatedRedis
  readonly clockOffsetsMs: ClockOffsets
}

/** Creates the engines of a world. */
export function simulateEngines(world: World): SimulatedEngines {
  const clockOffsetsMs: ClockOffsets = { elasticsearch: 0, kafka: 0, redis: 0 }
  const simulatedKafka = new SimulatedKafka(world.host('kafka', () => clockOffsetsMs.kafka))
  const simulatedRedis = new SimulatedRedis(world.host('redis', () => clockOffsetsMs.redis))
  const simulatedElasticsearch = new SimulatedElasticsearch(
    world.host('elasticsearch', () => clockOffsetsMs.elasticsearch),
  )
  return {
    simulatedKafka,
    simulatedRedis,
    simulatedElasticsearch,
    clockOffsetsMs,
    elasticsearch: () => simulatedClients(simulatedElasticsearch, world.network).elasticsearch,
    redis: (config, _onError, onCommand) => simulatedRedis.connect(world.network, config.INDEX_PREFIX, onCommand),
    kafka: (_config, log) => simulatedKafka.client(world.network, log),
  }
}

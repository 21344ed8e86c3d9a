import type { Engines } from '../../../src/core/stores/engines.ts'
import type { EngineName } from '../network.ts'
import type { World } from '../world/world.ts'
import { SimulatedElasticsearch, simulatedClients } from './elasticsearch/simulatedElasticsearch.ts'
import { SimulatedKafka } from './kafka/simulatedKafka.ts'
import { SimulatedRedis } from './redis/simulatedRedis.ts'

/** How far the clock of each engine is ahead (ms). */
type ClockOffsets = Record<EngineName, number>

/** The engines of a simulation: for the product's processes, and for who looks at them from outside. */
export type SimulatedEngines = Engines & {
  readonly simulatedKafka: SimulatedKafka
  readonly simulatedElasticsearch: SimulatedElasticsearch
  readonly simulatedRedis: SimulatedRedis
  readonly clockOffsetsMs: ClockOffsets
}

/** Engines that run in a world. */
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
    elasticsearchBytes: () => simulatedClients(simulatedElasticsearch, world.network).bytes,
    redis: (config, _onError, onCommand) => simulatedRedis.connect(world.network, config.INDEX_PREFIX, onCommand),
    kafka: (_config, log) => simulatedKafka.client(world.network, log),
  }
}

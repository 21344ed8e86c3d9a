import type { Logger } from 'pino'
import { connectKafka, kafkaProbe } from '../kafka/client.ts'
import { kafkaSink } from '../kafka/sink.ts'
import { type KafkaSource, kafkaSource } from '../kafka/source.ts'
import type { Config, Need } from '../process/config.ts'
import { connectElasticsearch, connectElasticsearchBytes, elasticsearchProbe } from './elasticsearch.ts'
import type { EngineProbe } from './preflight.ts'
import { connectRedis, redisProbe } from './redis.ts'

/** How a process connects to the engines that its configuration names. Nothing waits for an engine: the clients connect later, too. */
export const configuredEngines = {
  /** A client that parses responses. */
  elasticsearch: connectElasticsearch,
  /** A client whose responses are raw bytes of JSON. */
  elasticsearchBytes: connectElasticsearchBytes,
  redis: connectRedis,
  /** A source of its own connection for each caller of `openSource`; the sink connects when it is first used. */
  kafka: (config: Config, log: Logger) => {
    const kafka = connectKafka(config, log)
    return { openSource: (): KafkaSource => kafkaSource(kafka), sink: kafkaSink(kafka) }
  },
}

export type Engines = Readonly<typeof configuredEngines>

/** How the start of a process checks the engines that it needs. */
export const probesOf = (config: Config, needs: readonly Need[]): EngineProbe[] =>
  [elasticsearchProbe, kafkaProbe, redisProbe]
    .map((probe) => probe(config))
    .filter(({ engine }) => needs.includes(engine))

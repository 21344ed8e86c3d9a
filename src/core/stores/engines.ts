import type { Client } from '@elastic/elasticsearch'
import type { Logger } from 'pino'
import { connectKafka, kafkaProbe } from '../kafka/client.ts'
import { type KafkaSink, kafkaSink } from '../kafka/sink.ts'
import { type KafkaSource, kafkaSource } from '../kafka/source.ts'
import type { Config, Need } from '../process/config.ts'
import { connectElasticsearch, connectElasticsearchBytes, elasticsearchProbe } from './elasticsearch.ts'
import type { EngineProbe } from './preflight.ts'
import { connectRedis, type OnCommand, type RedisConnection, redisProbe } from './redis.ts'

/** How a process connects to its engines. Nothing waits for an engine: the clients connect by themselves, also later. */
export type Engines = {
  /** A client that parses responses. */
  elasticsearch(config: Config): Client
  /** A client whose responses are raw bytes of JSON. */
  elasticsearchBytes(config: Config): Client
  redis(config: Config, onError: (error: Error) => void, onCommand?: OnCommand): RedisConnection
  /** A source of its own connection for each caller of `openSource`; the sink's owner connects it. */
  kafka(config: Config, log: Logger): { openSource(): KafkaSource; readonly sink: KafkaSink }
}

/** The engines that the configuration names. */
export const configuredEngines: Engines = {
  elasticsearch: connectElasticsearch,
  elasticsearchBytes: connectElasticsearchBytes,
  redis: connectRedis,
  kafka: (config, log) => {
    const kafka = connectKafka(config, log)
    return { openSource: () => kafkaSource(kafka), sink: kafkaSink(kafka) }
  },
}

/** How the start of a process checks the engines that it needs. */
export const probesOf = (config: Config, needs: readonly Need[]): EngineProbe[] =>
  [elasticsearchProbe, kafkaProbe, redisProbe]
    .map((probe) => probe(config))
    .filter(({ engine }) => needs.includes(engine))

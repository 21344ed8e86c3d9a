import type { Logger } from 'pino'
import type { Config, Need } from '../config/config.ts'
import type { EngineProbe } from '../config/preflight.ts'
import { connectElasticsearch, elasticsearchProbe } from '../elasticsearch/elasticsearch.ts'
import { connectKafka, kafkaProbe } from '../kafka/client.ts'
import { kafkaSink } from '../kafka/sink.ts'
import { type KafkaSource, kafkaSource } from '../kafka/source.ts'
import { connectRedis, redisProbe } from '../redis/redis.ts'

/** No call waits for an engine: Redis connects in the background, the others at first use; all reconnect. */
export const configuredEngines = {
  elasticsearch: connectElasticsearch,
  redis: connectRedis,
  kafka: (config: Config, log: Logger) => {
    const kafka = connectKafka(config, log)
    return { openSource: (): KafkaSource => kafkaSource(kafka), sink: kafkaSink(kafka) }
  },
}

export type Engines = Readonly<typeof configuredEngines>

/** The probes of the engines that a process needs. */
export const probesOf = (config: Config, needs: readonly Need[]): EngineProbe[] =>
  [elasticsearchProbe, kafkaProbe, redisProbe]
    .map((probe) => probe(config))
    .filter(({ engine }) => needs.includes(engine))

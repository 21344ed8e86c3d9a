import { type Admin, Kafka, type KafkaConfig, logLevel, Partitioners, type Producer } from 'kafkajs'
import type { Logger } from 'pino'
import type { Config } from '../process/config.ts'
import { fetchLogEndOffsets, replaceFetchDecoder } from './kafkaPatches.ts'

replaceFetchDecoder()
fetchLogEndOffsets()

const connectionTimeoutMs = 5_000
const requestTimeoutMs = 30_000

/** A Kafka client that logs to `log` and retries a request five times; its callers decide what to do after that. */
export function connectKafka(config: Config, log: Logger): Kafka {
  return new Kafka({
    clientId: 'tidemark',
    brokers: config.KAFKA_BROKERS,
    connectionTimeout: connectionTimeoutMs,
    requestTimeout: requestTimeoutMs,
    // KafkaJS has other defaults when NODE_ENV is "test"; tests must run with those of production.
    retry: { initialRetryTime: 100, maxRetryTime: 5_000, retries: 5, factor: 0.2, multiplier: 2 },
    logLevel: logLevel.INFO,
    logCreator:
      () =>
      ({ level, log: { message, ...details } }) => {
        log[pinoLevel(level)]({ kafkajs: details }, message)
      },
    ...(config.KAFKA_SSL_CA_FILE !== undefined && { ssl: { ca: config.KAFKA_SSL_CA_FILE } }),
    ...(config.KAFKA_SASL_MECHANISM !== undefined && { sasl: saslOf(config) }),
  })
}

/** A producer that partitions by key as the Java client does, and waits for all replicas. */
export const createProducer = (kafka: Kafka): Producer =>
  kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner, allowAutoTopicCreation: false })

/** The Kafka clients of a process. The admin is closed when the process ends; the producer's owner connects and disconnects it. */
export function openKafka(
  config: Config,
  log: Logger,
  release: (what: string, releaser: () => Promise<unknown>) => void,
): { readonly kafka: Kafka; readonly admin: Admin; readonly producer: Producer } {
  const kafka = connectKafka(config, log)
  const admin = kafka.admin()
  release('kafka admin', () => admin.disconnect())
  return { kafka, admin, producer: createProducer(kafka) }
}

function saslOf(config: Config): NonNullable<KafkaConfig['sasl']> {
  const credentials = { username: config.KAFKA_SASL_USERNAME ?? '', password: config.KAFKA_SASL_PASSWORD ?? '' }
  switch (config.KAFKA_SASL_MECHANISM) {
    case 'scram-sha-256':
      return { mechanism: 'scram-sha-256', ...credentials }
    case 'scram-sha-512':
      return { mechanism: 'scram-sha-512', ...credentials }
    case 'plain':
    case undefined:
      return { mechanism: 'plain', ...credentials }
  }
}

function pinoLevel(level: logLevel): 'error' | 'warn' | 'info' | 'debug' {
  if (level === logLevel.ERROR) return 'error'
  if (level === logLevel.WARN) return 'warn'
  return 'debug'
}

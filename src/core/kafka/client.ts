import { getCACertificates } from 'node:tls'
import kafkajs, { Kafka, logLevel, type SASLOptions } from 'kafkajs'
import { type Logger, pino } from 'pino'
import type { Config } from '../process/config.ts'
import { aborted, addressIn, type EngineProbe } from '../stores/preflight.ts'
import { announceJoining, closeUnansweredConnections, fetchLogEndOffsets, replaceFetchDecoder } from './patches.ts'

replaceFetchDecoder()
fetchLogEndOffsets()
closeUnansweredConnections()
announceJoining()

const connectionTimeoutMs = 5_000
/** A request to a broker that is frozen or cut off fails after this time; joining a group and fetching may take longer. */
const requestTimeoutMs = 10_000

const usesTls = ({ KAFKA_SSL, KAFKA_SSL_CA_FILE }: Config): boolean => KAFKA_SSL ?? KAFKA_SSL_CA_FILE !== undefined

/** Certificate authorities (PEM): those configured, else Node's own and the operating system's. */
const trustedAuthorities = ({ KAFKA_SSL_CA_FILE }: Config): string | string[] =>
  KAFKA_SSL_CA_FILE ?? [...getCACertificates('default'), ...getCACertificates('system')]

/** A Kafka client that logs to `log` and retries a failed request five times; further retries are up to its callers. */
export function connectKafka(config: Config, log: Logger): Kafka {
  return new Kafka({
    clientId: 'tidemark',
    brokers: config.KAFKA_BROKERS,
    connectionTimeout: connectionTimeoutMs,
    requestTimeout: requestTimeoutMs,
    // KafkaJS has other defaults when NODE_ENV is "test"; tests must run with the defaults of production.
    retry: { initialRetryTime: 100, maxRetryTime: 5_000, retries: 5, factor: 0.2, multiplier: 2 },
    logLevel: logLevel.INFO,
    logCreator:
      () =>
      ({ level, log: { message, ...details } }) => {
        log[pinoLevel(level)]({ kafkajs: details }, message)
      },
    ...(usesTls(config) && { ssl: { ca: trustedAuthorities(config) } }),
    ...(config.KAFKA_SASL_MECHANISM !== undefined && { sasl: saslOf(config) }),
  })
}

/** The cast is safe: `readConfig` demands all three variables together. */
const saslOf = (config: Config): SASLOptions =>
  ({
    mechanism: config.KAFKA_SASL_MECHANISM,
    username: config.KAFKA_SASL_USERNAME,
    password: config.KAFKA_SASL_PASSWORD,
  }) as SASLOptions

const pinoLevel = (level: logLevel) => (level === logLevel.ERROR ? 'error' : level === logLevel.WARN ? 'warn' : 'debug')

/** Checks TLS certificates and credentials of Kafka when a process starts. */
export const kafkaProbe = (config: Config): EngineProbe => ({
  engine: 'KAFKA_BROKERS',
  caSetting: config.KAFKA_SSL_CA_FILE === undefined ? 'KAFKA_SSL' : 'KAFKA_SSL_CA_FILE',
  ca: trustedAuthorities(config),
  addresses: usesTls(config) ? config.KAFKA_BROKERS.map((broker) => addressIn(`kafka://${broker}`, 9_092)) : [],
  tryCredentials: async (signal) => {
    const admin = connectKafka(config, pino({ level: 'silent' })).admin({ retry: { retries: 0 } })
    try {
      await Promise.race([admin.connect(), aborted(signal)])
      return undefined
    } catch (error) {
      if (!(error instanceof kafkajs.KafkaJSSASLAuthenticationError)) throw error
      const rule = 'is refused by Kafka for the user of KAFKA_SASL_USERNAME by way of KAFKA_SASL_MECHANISM'
      return { path: 'KAFKA_SASL_PASSWORD', rule }
    } finally {
      admin.disconnect().catch(() => undefined)
    }
  },
})

import { getCACertificates } from 'node:tls'
import { Kafka, logLevel } from 'kafkajs'
import { type Logger, pino } from 'pino'
import type { Config } from '../process/config.ts'
import { aborted, addressIn, type EngineProbe, type Tls } from '../stores/preflight.ts'
import { credentialsProblem, live, saslOf } from './authentication.ts'
import { announceJoining, closeUnansweredConnections, fetchLogEndOffsets, replaceFetchDecoder } from './patches.ts'

replaceFetchDecoder()
fetchLogEndOffsets()
closeUnansweredConnections()
announceJoining()

const connectionTimeoutMs = 5_000
/** A request to a broker that is frozen or cut off fails after this time; joining a group and fetching may take longer. */
const requestTimeoutMs = 10_000

const usesTls = ({ KAFKA_SSL, KAFKA_SSL_CA_FILE, KAFKA_SSL_CERT_FILE }: Config): boolean =>
  KAFKA_SSL ?? (KAFKA_SSL_CA_FILE ?? KAFKA_SSL_CERT_FILE) !== undefined

/** Certificate authorities (PEM): Node's own, those of NODE_EXTRA_CA_CERTS and the operating system's. */
const publicAuthorities = (): string[] => [...getCACertificates('default'), ...getCACertificates('system')]

/** TLS, with the certificates that the configuration has when a connection is made. */
function tlsOf(config: Config): Tls {
  const own = { cert: 'KAFKA_SSL_CERT_FILE', key: 'KAFKA_SSL_KEY_FILE' } as const
  if (config.KAFKA_SSL_CA_FILE !== undefined) return live(config, { ca: 'KAFKA_SSL_CA_FILE', ...own })
  return Object.assign(live(config, own), { ca: publicAuthorities() })
}

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
    ...(usesTls(config) && { ssl: tlsOf(config) }),
    ...(config.KAFKA_SASL_MECHANISM !== undefined && { sasl: saslOf(config, publicAuthorities) }),
  })
}

const pinoLevel = (level: logLevel) => (level === logLevel.ERROR ? 'error' : level === logLevel.WARN ? 'warn' : 'debug')

/** Checks TLS certificates and credentials of Kafka when a process starts. */
export const kafkaProbe = (config: Config): EngineProbe => ({
  engine: 'KAFKA_BROKERS',
  caSetting: config.KAFKA_SSL_CA_FILE === undefined ? 'KAFKA_SSL' : 'KAFKA_SSL_CA_FILE',
  certificateSetting: 'KAFKA_SSL_CERT_FILE',
  tls: tlsOf(config),
  addresses: usesTls(config) ? config.KAFKA_BROKERS.map((broker) => addressIn(`kafka://${broker}`, 9_092)) : [],
  tryCredentials: async (signal) => {
    const admin = connectKafka(config, pino({ level: 'silent' })).admin({ retry: { retries: 0 } })
    const connecting = admin.connect()
    const disconnect = (): void => {
      admin.disconnect().catch(() => undefined)
    }
    try {
      await Promise.race([connecting, aborted(signal)])
      return undefined
    } catch (error) {
      const problem = credentialsProblem(error)
      if (problem === undefined) throw error
      return problem
    } finally {
      disconnect()
      // An attempt that was given up goes on, and its connection would keep a command from its end.
      connecting.then(disconnect, () => undefined)
    }
  },
})

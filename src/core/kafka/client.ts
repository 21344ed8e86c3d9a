import { getCACertificates } from 'node:tls'
import kafkajs, { Kafka, type KafkaConfig, logLevel, type Mechanism } from 'kafkajs'
import { type Logger, pino } from 'pino'
import { type Config, latest } from '../config/config.ts'
import { aborted, addressIn, type EngineProbe, type Tls } from '../config/preflight.ts'
import type { Problem } from '../model/schema.ts'
import {
  announceJoining,
  closeUnansweredConnections,
  fetchLogEndOffsets,
  keepCommitsOutOfRange,
  keepHeaders,
  replaceFetchDecoder,
  reportFetchedOffsets,
} from './patches.ts'
import { awsTokens, cacheToken, fetchOAuthToken, type TokenCache } from './tokens.ts'

// Mend bugs of KafkaJS, for every client of this process.
replaceFetchDecoder()
keepHeaders()
fetchLogEndOffsets()
closeUnansweredConnections()
announceJoining()
keepCommitsOutOfRange()
reportFetchedOffsets()

const connectionTimeoutMs = 5_000
/** Joining a group and fetching have longer timeouts. */
const requestTimeoutMs = 10_000

/** Makes an object from member → setting, whose members read the present value: files of secrets may be replaced while a process runs. */
const presentValues = (config: Config, names: Readonly<Record<string, keyof Config>>): object =>
  Object.defineProperties(
    {},
    Object.fromEntries(
      Object.entries(names).map(([member, name]) => [member, { enumerable: true, get: () => latest(config)[name] }]),
    ),
  )

const usesTls = ({ KAFKA_SSL, KAFKA_SSL_CA_FILE, KAFKA_SSL_CERT_FILE }: Config): boolean =>
  KAFKA_SSL ?? (KAFKA_SSL_CA_FILE ?? KAFKA_SSL_CERT_FILE) !== undefined

const publicAuthorities = (): string[] => [...getCACertificates('default'), ...getCACertificates('system')]

function tlsOf(config: Config): Tls {
  const clientCertificate = { cert: 'KAFKA_SSL_CERT_FILE', key: 'KAFKA_SSL_KEY_FILE' } as const
  if (config.KAFKA_SSL_CA_FILE !== undefined)
    return presentValues(config, { ca: 'KAFKA_SSL_CA_FILE', ...clientCertificate })
  return Object.assign(presentValues(config, clientCertificate), { ca: publicAuthorities() })
}

function saslOf(config: Config): NonNullable<KafkaConfig['sasl']> {
  const { KAFKA_SASL_MECHANISM: mechanism, AWS_REGION: region } = config
  if (mechanism === 'aws-msk-iam') {
    const rule = 'is aws-msk-iam, but Kafka refuses the credentials of AWS'
    return bearer(cacheToken(awsTokens(region)), { path: 'KAFKA_SASL_MECHANISM', rule })
  }
  if (mechanism === 'oauthbearer') {
    const token = cacheToken(() => fetchOAuthToken(config, publicAuthorities()))
    return bearer(token, { path: 'KAFKA_OAUTH_TOKEN_URL', rule: 'gives tokens that Kafka refuses' })
  }
  const user = presentValues(config, { username: 'KAFKA_SASL_USERNAME', password: 'KAFKA_SASL_PASSWORD' })
  return Object.assign(user, { mechanism }) as NonNullable<KafkaConfig['sasl']>
}

const lengthBytes = 4

/** SASL OAUTHBEARER (RFC 7628). If Kafka refuses the token, the error has `problem` as a member. KafkaJS's own OAUTHBEARER mistakes a refusal for success. */
export const bearer = ({ read, forget }: TokenCache, problem: Problem): Mechanism => ({
  mechanism: 'oauthbearer',
  authenticationProvider: ({ saslAuthenticate }) => ({
    authenticate: async () => {
      const send = (message: string) =>
        saslAuthenticate({
          request: { encode: () => withLengthPrefix(message) },
          response: { decode: (answer) => answer.subarray(lengthBytes), parse: String },
        })
      const token = await read()
      try {
        // An answer with content is a refusal, which the client must acknowledge; then the broker answers with an error.
        if (await send(`n,,\x01auth=Bearer ${token}\x01\x01`)) await send('\x01')
      } catch (error) {
        // May be a lost connection, which shows nothing about the token.
        if (!(error instanceof kafkajs.KafkaJSProtocolError)) throw error
        forget()
        const message = `${problem.path} ${problem.rule}: ${error.message}`
        throw Object.assign(new kafkajs.KafkaJSNonRetriableError(message), { problem })
      }
    },
  }),
})

function withLengthPrefix(message: string): Buffer {
  const bytes = Buffer.from(`\0\0\0\0${message}`)
  bytes.writeInt32BE(bytes.length - lengthBytes)
  return bytes
}

export function connectKafka(config: Config, log: Logger): Kafka {
  return new Kafka({
    clientId: 'tidemark',
    brokers: config.KAFKA_BROKERS,
    connectionTimeout: connectionTimeoutMs,
    requestTimeout: requestTimeoutMs,
    // The defaults of KafkaJS, except with NODE_ENV "test".
    retry: { initialRetryTime: 100, maxRetryTime: 5_000, retries: 5, factor: 0.2, multiplier: 2 },
    logLevel: logLevel.INFO,
    logCreator:
      () =>
      ({ level, log: { message, ...details } }) => {
        log[pinoLevel(level)]({ kafkajs: details }, message)
      },
    ...(usesTls(config) && { ssl: tlsOf(config) }),
    ...(config.KAFKA_SASL_MECHANISM !== undefined && { sasl: saslOf(config) }),
  })
}

function pinoLevel(level: logLevel): 'error' | 'warn' | 'debug' {
  if (level === logLevel.ERROR) return 'error'
  return level === logLevel.WARN ? 'warn' : 'debug'
}

/** How a starting process checks the settings of Kafka. */
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
      // After an abort the attempt continues, and its connection would prevent a command from exiting.
      connecting.then(disconnect, () => undefined)
    }
  },
})

/** Undefined if no setting is shown to be wrong: Kafka may just be unreachable. */
function credentialsProblem(failure: unknown): Problem | undefined {
  const error = failure as Error & { readonly type?: string; readonly problem?: Problem; readonly cause?: typeof error }
  const problem = error.problem ?? error.cause?.problem
  const path = 'KAFKA_SASL_MECHANISM'
  if (error.type === 'UNSUPPORTED_SASL_MECHANISM') return { path, rule: 'is none that Kafka offers' }
  if (problem !== undefined || !(error instanceof kafkajs.KafkaJSSASLAuthenticationError)) return problem
  const rule = `is refused by Kafka for the user of KAFKA_SASL_USERNAME by way of ${path}`
  return { path: 'KAFKA_SASL_PASSWORD', rule }
}

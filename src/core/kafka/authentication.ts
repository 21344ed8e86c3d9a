import kafkajs, { type KafkaConfig, type Mechanism } from 'kafkajs'
import type { Problem } from '../model/schema.ts'
import { type Config, latest } from '../process/config.ts'
import { awsTokens, fetchOAuthToken, keepToken } from './tokens.ts'

/** An object whose members have the values that the configuration has when they are read. */
export const live = (config: Config, names: Readonly<Record<string, keyof Config>>): object =>
  Object.defineProperties(
    {},
    Object.fromEntries(
      Object.entries(names).map(([member, name]) => [member, { enumerable: true, get: () => latest(config)[name] }]),
    ),
  )

/** How the client authenticates whenever it connects. `authorities` are for the token endpoint. */
export function saslOf(config: Config, authorities: () => string[]): NonNullable<KafkaConfig['sasl']> {
  const { KAFKA_SASL_MECHANISM: mechanism, AWS_REGION: region } = config
  if (mechanism === 'aws-msk-iam') {
    const rule = 'is aws-msk-iam, but Kafka refuses the credentials of AWS'
    return bearer(keepToken(awsTokens(region)), { path: 'KAFKA_SASL_MECHANISM', rule })
  }
  if (mechanism === 'oauthbearer') {
    const token = keepToken(() => fetchOAuthToken(config, authorities()))
    return bearer(token, { path: 'KAFKA_OAUTH_TOKEN_URL', rule: 'gives tokens that Kafka refuses' })
  }
  const user = live(config, { username: 'KAFKA_SASL_USERNAME', password: 'KAFKA_SASL_PASSWORD' })
  return Object.assign(user, { mechanism }) as NonNullable<KafkaConfig['sasl']>
}

const sizeBytes = 4

/** SASL OAUTHBEARER (RFC 7628). That of KafkaJS takes a refusal for a success, and then learns only that the connection is closed. */
const bearer = ({ read, forget }: ReturnType<typeof keepToken>, problem: Problem): Mechanism => ({
  mechanism: 'oauthbearer',
  authenticationProvider: ({ saslAuthenticate }) => ({
    authenticate: async () => {
      const send = (message: string) =>
        saslAuthenticate({
          request: { encode: () => framed(message) },
          response: { decode: (answer) => answer.subarray(sizeBytes), parse: String },
        })
      const token = await read()
      try {
        // A refusal is an answer, which the client acknowledges; then the broker fails the conversation.
        if (await send(`n,,\x01auth=Bearer ${token}\x01\x01`)) await send('\x01')
      } catch (error) {
        // The connection may only have been lost.
        if (!(error instanceof kafkajs.KafkaJSProtocolError)) throw error
        forget()
        const message = `${problem.path} ${problem.rule}: ${error.message}`
        throw Object.assign(new kafkajs.KafkaJSNonRetriableError(message), { problem })
      }
    },
  }),
})

/** A message of SASL, after its size. */
function framed(message: string): Buffer {
  const bytes = Buffer.from(`\0\0\0\0${message}`)
  bytes.writeInt32BE(bytes.length - sizeBytes)
  return bytes
}

/** The setting that is to blame for a failure to connect; undefined where Kafka may only be unreachable. */
export function credentialsProblem(failure: unknown): Problem | undefined {
  const error = failure as Error & { readonly type?: string; readonly problem?: Problem; readonly cause?: typeof error }
  const problem = error.problem ?? error.cause?.problem
  const path = 'KAFKA_SASL_MECHANISM'
  if (error.type === 'UNSUPPORTED_SASL_MECHANISM') return { path, rule: 'is none that Kafka offers' }
  if (problem !== undefined || !(error instanceof kafkajs.KafkaJSSASLAuthenticationError)) return problem
  const rule = `is refused by Kafka for the user of KAFKA_SASL_USERNAME by way of ${path}`
  return { path: 'KAFKA_SASL_PASSWORD', rule }
}

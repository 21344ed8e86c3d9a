import { AwsV4Signer } from 'aws4fetch'
import * as oauth from 'oauth4webapi'
import { Agent, fetch as fetchBy } from 'undici'
import { type Config, latest } from '../config/config.ts'
import { aborted } from '../config/preflight.ts'

/** `lifetimeMs` counts from the request for the token. */
type Token = { readonly value: string; readonly lifetimeMs: number }

export interface TokenCache {
  readonly read: () => Promise<string>
  /** Call it when Kafka refuses the token. */
  readonly forget: () => void
}

/** KafkaJS authenticates again ten seconds before a session ends, and by then needs a new token. */
const renewBeforeMs = 30_000
const noToken = { value: '', endsAtMs: 0 }

/** If renewal fails, the old token is used until its end. */
export function cacheToken(fetchToken: () => Promise<Token>): TokenCache {
  let token = noToken
  let renewing: Promise<void> | undefined
  const leftMs = (): number => token.endsAtMs - performance.now()
  const renew = async (): Promise<void> => {
    const startedMs = performance.now()
    const { value, lifetimeMs } = await fetchToken()
    token = { value, endsAtMs: startedMs + lifetimeMs }
  }
  return {
    read: async () => {
      if (leftMs() >= renewBeforeMs) return token.value
      renewing ??= renew().finally(() => {
        renewing = undefined
      })
      await renewing.catch((error: unknown) => {
        if (leftMs() <= 0) throw error
      })
      return token.value
    },
    forget: () => {
      token = noToken
    },
  }
}

const deadlineMs = 10_000

/** By the client credentials grant of OAuth 2.0. `ca`: PEM. */
export async function fetchOAuthToken(config: Config, ca: string[]): Promise<Token> {
  const settings = latest(config)
  const { KAFKA_OAUTH_TOKEN_URL: url = '', KAFKA_OAUTH_SCOPE: scope } = settings
  const server = { issuer: url, token_endpoint: url }
  const client = { client_id: settings.KAFKA_OAUTH_CLIENT_ID ?? '' }
  const authentication = oauth.ClientSecretBasic(settings.KAFKA_OAUTH_CLIENT_SECRET ?? '')
  // Node's `fetch` would not trust `ca`.
  const dispatcher = new Agent({ connect: { ca } })
  const options = {
    signal: AbortSignal.timeout(deadlineMs),
    // The configuration allows http:// only on loopback.
    [oauth.allowInsecureRequests]: true,
    [oauth.customFetch]: (to: string, request: object) =>
      fetchBy(to, { ...request, dispatcher }) as unknown as Promise<Response>,
  }
  try {
    const parameters = scope === undefined ? [] : [['scope', scope]]
    const answer = await oauth.clientCredentialsGrantRequest(server, client, authentication, parameters, options)
    const token = await oauth.processClientCredentialsResponse(server, client, answer)
    return { value: token.access_token, lifetimeMs: (token.expires_in ?? 0) * 1_000 }
  } catch (failure) {
    throw refusalOf(failure as Failure)
  } finally {
    dispatcher.close().catch(() => undefined)
  }
}

type Failure = Error & { readonly error?: unknown; readonly code?: unknown; readonly status?: number }

function refusalOf({ name, error, code, cause, status }: Failure): Error {
  const { status: causeStatus, code: causeCode } = (cause ?? {}) as Partial<Failure>
  const words = [status ?? causeStatus ?? '', error ?? causeCode ?? code ?? name].map(String)
  // Other words could be texts of the answer, which may contain secrets.
  const why = `(${words.filter((word) => /^\w+$/.test(word)).join(' ')})`
  if (status === 400 || status === 401 || status === 403) {
    const path = error === 'invalid_scope' ? 'KAFKA_OAUTH_SCOPE' : 'KAFKA_OAUTH_CLIENT_SECRET'
    return tokenError(path, `is refused by KAFKA_OAUTH_TOKEN_URL ${why}`, true)
  }
  const isUntrusted = /CERT|SIGNATURE|ISSUER/.test(String(causeCode))
  return tokenError('KAFKA_OAUTH_TOKEN_URL', `gives no token ${why}`, isUntrusted)
}

/** With `isRefused`, the setting `path` is wrong; otherwise the server may be unreachable. */
const tokenError = (path: string, rule: string, isRefused: boolean): Error =>
  Object.assign(new Error(`${path} ${rule}`), isRefused && { problem: { path, rule } })

interface AwsCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
  readonly expiration?: Date
}

/** Uses the credentials that the AWS SDK finds. */
export function awsTokens(region = ''): () => Promise<Token> {
  let credentials: (() => Promise<AwsCredentials>) | undefined
  return async () => {
    try {
      // Loaded at first use: most installations do not need it.
      credentials ??= (await import('@aws-sdk/credential-provider-node')).defaultProvider()
      const identity = await Promise.race([credentials(), aborted(AbortSignal.timeout(deadlineMs))])
      return await signAwsToken(identity, region, Date.now())
    } catch (error) {
      const { name } = error as Error
      const rule = `is aws-msk-iam, but no AWS credentials could be obtained (${name})`
      throw tokenError('KAFKA_SASL_MECHANISM', rule, name === 'CredentialsProviderError')
    }
  }
}

const awsLifetimeSeconds = 900

/** The token is a signed URL, which the broker calls to learn who connects. It expires after 15 minutes, or earlier with the credentials. */
export async function signAwsToken(credentials: AwsCredentials, region: string, nowMs: number): Promise<Token> {
  const leftMs = (credentials.expiration?.getTime() ?? Infinity) - nowMs
  const seconds = Math.floor(Math.min(awsLifetimeSeconds, leftMs / 1_000))
  const datetime = new Date(nowMs).toISOString().replace(/[-:]|\.\d+/g, '')
  const url = `https://kafka.${region}.amazonaws.com/?Action=kafka-cluster%3AConnect&X-Amz-Expires=${seconds}`
  const service = 'kafka-cluster'
  const signer = new AwsV4Signer({ ...credentials, url, method: 'GET', service, region, datetime, signQuery: true })
  const signed = await signer.sign()
  signed.url.searchParams.set('User-Agent', 'tidemark')
  return { value: Buffer.from(signed.url.href).toString('base64url'), lifetimeMs: seconds * 1_000 }
}

import type { defaultProvider } from '@aws-sdk/credential-provider-node'
import { AwsV4Signer } from 'aws4fetch'
import * as oauth from 'oauth4webapi'
import { Agent, fetch as fetchBy } from 'undici'
import { type Config, latest } from '../config/config.ts'
import { aborted } from '../config/preflight.ts'

/** A bearer token, and for how long (ms) it is valid. */
type Token = { readonly value: string; readonly lifetimeMs: number }

/** Why no token can be had. `isRefused` when a setting is to blame. */
const tokenError = (path: string, rule: string, isRefused: boolean): Error =>
  Object.assign(new Error(`${path} ${rule}`), isRefused && { problem: { path, rule } })

/** KafkaJS authenticates again ten seconds before a session ends. By then the token must be another one, which ends later. */
const renewBeforeMs = 30_000

/** Keeps a token until half a minute before its end, and until its end where no new one can be had. */
export function keepToken(fetchToken: () => Promise<Token>) {
  let kept = { value: '', endsAtMs: 0 }
  let asked: Promise<void> | undefined
  const leftMs = (): number => kept.endsAtMs - performance.now()
  const renew = async (): Promise<void> => {
    const askedAtMs = performance.now()
    const { value, lifetimeMs } = await fetchToken()
    kept = { value, endsAtMs: askedAtMs + lifetimeMs }
  }
  return {
    /** Rejects with the error of `fetchToken`. */
    read: async (): Promise<string> => {
      if (leftMs() >= renewBeforeMs) return kept.value
      asked ??= renew().finally(() => {
        asked = undefined
      })
      await asked.catch((error: unknown) => {
        if (leftMs() <= 0) throw error
      })
      return kept.value
    },
    /** Called when Kafka refuses the token. */
    forget: (): void => {
      kept = { value: '', endsAtMs: 0 }
    },
  }
}

const deadlineMs = 10_000

/** Asks the token endpoint by the client credentials grant of OAuth 2.0, for ten seconds at most. Errors do not have the text of its answer. */
export async function fetchOAuthToken(config: Config, ca: string[]): Promise<Token> {
  const now = latest(config)
  const { KAFKA_OAUTH_TOKEN_URL: url = '', KAFKA_OAUTH_SCOPE: scope } = now
  const [server, client] = [{ issuer: url, token_endpoint: url }, { client_id: now.KAFKA_OAUTH_CLIENT_ID ?? '' }]
  const authentication = oauth.ClientSecretBasic(now.KAFKA_OAUTH_CLIENT_SECRET ?? '')
  // `fetch` of Node would trust Node's own authorities alone.
  const dispatcher = new Agent({ connect: { ca } })
  const options = {
    signal: AbortSignal.timeout(deadlineMs),
    // The configuration allows http:// on loopback alone.
    [oauth.allowInsecureRequests]: true,
    [oauth.customFetch]: (to: string, asked: object) =>
      fetchBy(to, { ...asked, dispatcher }) as unknown as Promise<Response>,
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
  const { status: other, code: deeper } = (cause ?? {}) as Partial<Failure>
  const said = [status ?? other ?? '', error ?? deeper ?? code ?? name].map(String)
  const why = `(${said.filter((word) => /^\w+$/.test(word)).join(' ')})`
  const isUntrusted = /CERT|SIGNATURE|ISSUER/.test(String(deeper))
  const refused = error === 'invalid_scope' ? 'KAFKA_OAUTH_SCOPE' : 'KAFKA_OAUTH_CLIENT_SECRET'
  return status === 400 || status === 401 || status === 403
    ? tokenError(refused, `is refused by KAFKA_OAUTH_TOKEN_URL ${why}`, true)
    : tokenError('KAFKA_OAUTH_TOKEN_URL', `gives no token ${why}`, isUntrusted)
}

type AwsCredentials = Awaited<ReturnType<ReturnType<typeof defaultProvider>>>

/** Signs tokens for MSK with the credentials that the AWS SDK finds: of the environment, a profile, a service account, a container, a machine. */
export function awsTokens(region = ''): () => Promise<Token> {
  let credentials: (() => Promise<AwsCredentials>) | undefined
  return async () => {
    try {
      // Most installations need neither this package nor its memory.
      credentials ??= (await import('@aws-sdk/credential-provider-node')).defaultProvider()
      const found = await Promise.race([credentials(), aborted(AbortSignal.timeout(deadlineMs))])
      return await signAwsToken(found, region, Date.now())
    } catch (error) {
      const { name } = error as Error
      const rule = `is aws-msk-iam, but no credentials of AWS can be had (${name})`
      throw tokenError('KAFKA_SASL_MECHANISM', rule, name === 'CredentialsProviderError')
    }
  }
}

const awsLifetimeSeconds = 900

/** The token is the signed URL of a request by which the broker learns who connects. It ends with the credentials at the latest. */
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

import { Client, errors } from '@elastic/elasticsearch'
import {
  type ConnectionRequestOptions,
  type ConnectionRequestParams,
  Serializer,
  type TransportRequestParams,
  type UndiciAgentOptions,
  UndiciConnection,
} from '@elastic/transport'
import { type Config, latest } from '../config/config.ts'
import { addressIn, type EngineProbe } from '../config/preflight.ts'
import type { Problem } from '../model/schema.ts'
import { printable } from '../monitoring/log.ts'

export type RequestOptions = { readonly signal: AbortSignal; readonly requestTimeout?: number }

/** Parses answers, except those requested `asBytes`: parsing would reorder names and lose digits of documents, which the API serves byte for byte. */
export class RawSerializer extends Serializer {
  override deserialize<T = unknown>(json: string | Uint8Array): T {
    return typeof json === 'string' ? super.deserialize<T>(json) : (json as T)
  }
}

export const bytesContext = { isForBytes: true }

/** For an answer as bytes of JSON. If a node is unreachable or answers 502, 503 or 504, the client tries the others, each once. */
export const asBytes = ({ connectionPool }: Client) => ({ context: bytesContext, maxRetries: connectionPool.size - 1 })

/**
 * Works around three bugs of `UndiciConnection`:
 * - When a caller aborts its request, the client marks the node as dead. Here the client gets `RequestAbortedError`, which does not count against the node.
 * - When a request times out, the connection dispatches `abort` on the caller's signal, which ends everything else that listens to it. Here each request has
 *   its own signal.
 * - A request ends after the client's timeout even if its own is longer. Here the client's bounds only the pause between two parts of a body.
 */
class AbortableConnection extends UndiciConnection {
  constructor({ timeout: bodyTimeout, ...options }: ConstructorParameters<typeof UndiciConnection>[0]) {
    super({ ...options, agent: { bodyTimeout } as UndiciAgentOptions })
  }

  override async request(params: ConnectionRequestParams, options: ConnectionRequestOptions): Promise<never> {
    const { signal } = options
    const requestAbort = new AbortController()
    const abort = (): void => requestAbort.abort(signal?.reason)
    if (signal?.aborted === true) abort()
    signal?.addEventListener('abort', abort, { once: true })
    try {
      return (await this.read(params, { ...options, signal: requestAbort.signal })) as never
    } catch (error) {
      if (error instanceof errors.ConnectionError && signal?.aborted === true)
        throw new errors.RequestAbortedError('Request aborted')
      throw error
    } finally {
      signal?.removeEventListener('abort', abort)
    }
  }

  /** With `bytesContext`, returns errors as text, which the client parses. */
  protected async read(params: ConnectionRequestParams, options: ConnectionRequestOptions): Promise<unknown> {
    if (options.context !== bytesContext) return await super.request(params, options)
    const answer = await super.request(params, { ...options, asStream: true })
    const body = answer.body as unknown as AsyncIterable<Buffer>
    try {
      const read = await readAtMost(body, options.maxResponseSize)
      // The client would decode a Buffer to text.
      const bytes = new Uint8Array(read.buffer, read.byteOffset, read.length)
      return { ...answer, body: answer.statusCode < 400 ? bytes : read.toString() }
    } catch (error) {
      throw error instanceof errors.RequestAbortedError ? error : new errors.ConnectionError((error as Error).message)
    }
  }
}

/** The client checks `maxBytes` only for other answers. */
async function readAtMost(body: AsyncIterable<Buffer>, maxBytes = Number.POSITIVE_INFINITY): Promise<Buffer> {
  const parts: Buffer[] = []
  let length = 0
  for await (const part of body) {
    length += part.length
    if (length > maxBytes) throw new errors.RequestAbortedError(`${tooLongMessage} is more than ${maxBytes}`)
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/** Begins the error for a too long answer, as in the client. */
export const tooLongMessage = 'The content length'

/** The client would always send its first credentials, but files of secrets may change. */
const authenticating = (config: Config): typeof AbortableConnection =>
  class extends AbortableConnection {
    protected override read(params: ConnectionRequestParams, options: ConnectionRequestOptions): Promise<unknown> {
      const settings = latest(config)
      const key = settings.ELASTICSEARCH_API_KEY
      if (config.files === undefined || (key ?? settings.ELASTICSEARCH_USERNAME) === undefined)
        return super.read(params, options)
      const user = Buffer.from(`${settings.ELASTICSEARCH_USERNAME}:${settings.ELASTICSEARCH_PASSWORD}`)
      const authorization = key === undefined ? `Basic ${user.toString('base64')}` : `ApiKey ${key}`
      return super.read({ ...params, headers: { ...params.headers, authorization } }, options)
    }
  }

export const defaultRequestTimeoutMs = 60_000

/** The client retries only requests with `maxRetries`. */
export const connectElasticsearch = (config: Config): Client =>
  new Client({
    Connection: authenticating(config),
    Serializer: RawSerializer,
    nodes: config.ELASTICSEARCH_URL,
    maxRetries: 0,
    requestTimeout: defaultRequestTimeoutMs,
    ...(config.ELASTICSEARCH_API_KEY !== undefined && { auth: { apiKey: config.ELASTICSEARCH_API_KEY } }),
    ...(config.ELASTICSEARCH_USERNAME !== undefined && {
      auth: { username: config.ELASTICSEARCH_USERNAME, password: config.ELASTICSEARCH_PASSWORD ?? '' },
    }),
    ...(config.ELASTICSEARCH_CA_FILE !== undefined && { tls: { ca: config.ELASTICSEARCH_CA_FILE } }),
  })

const httpsPort = 443
const major = 9
/** The first release that can remove an index block while the block is being added. */
const minor = 1
const neededRelease = `Elasticsearch ${major}.${minor} or a later ${major} is needed`
/** Replicas of an overloaded shard may lack documents (elastic/elasticsearch#158212). */
const releasesLosingDocuments = new Set(['9.5.0', '9.5.1', '9.5.2'])
const mediaType = `application/vnd.elasticsearch+json; compatible-with=${major}`
/** The probe evaluates 400 to 599, so the client must not throw. */
const errorStatuses = Array.from({ length: 200 }, (_, at) => 400 + at)
const mediaTypes = { accept: mediaType, 'content-type': mediaType }

type Send = (params: TransportRequestParams) => Promise<{ readonly statusCode: number; readonly body: unknown }>

/** How a starting process checks the settings and release of Elasticsearch. */
export const elasticsearchProbe = (config: Config): EngineProbe => ({
  engine: 'ELASTICSEARCH_URL',
  caSetting: 'ELASTICSEARCH_CA_FILE',
  tls: { ca: config.ELASTICSEARCH_CA_FILE },
  addresses: config.ELASTICSEARCH_URL.filter((url) => url.startsWith('https:')).map((url) => addressIn(url, httpsPort)),
  tryCredentials: async (signal) => {
    const client = connectElasticsearch(config)
    const maxRetries = config.ELASTICSEARCH_URL.length - 1
    const send: Send = async (params) =>
      await client.transport.request(params, {
        signal,
        meta: true,
        headers: mediaTypes,
        ignore: errorStatuses,
        maxRetries,
      })
    try {
      // Needs no privilege. If security is disabled, the status is an error other than 401.
      const identity = await send({ method: 'GET', path: '/_security/_authenticate' })
      return identity.statusCode === 401 ? credentialsProblem(config) : await versionProblem(send)
    } catch (error) {
      if (!(error instanceof errors.ProductNotSupportedError)) throw error
      return { path: 'ELASTICSEARCH_URL', rule: `names something else; ${neededRelease}` }
    } finally {
      await client.close()
    }
  },
})

/** Undefined if the version is supported or unknown. */
async function versionProblem(send: Send): Promise<Problem | undefined> {
  const path = 'ELASTICSEARCH_URL'
  // May be refused: the roles of `security` lack `cluster:monitor/main`.
  const info = await send({ method: 'GET', path: '/' })
  const { version } = (info.body ?? {}) as { version?: { number?: unknown } }
  if (info.statusCode === 200 && typeof version?.number === 'string') {
    const number = printable(version.number)
    const fits = number.startsWith(`${major}.`) && Number(number.split('.')[1]) >= minor
    if (!fits) return { path, rule: `names version ${number}; ${neededRelease}` }
    if (!releasesLosingDocuments.has(number)) return undefined
    const why = 'under load its replicas may lack documents (elastic/elasticsearch#158212)'
    return { path, rule: `names version ${number}: ${why}; an earlier or later 9 is needed` }
  }
  // Earlier versions refuse a body with this version's media type, for any path and user.
  const { statusCode, body } = await send({ method: 'POST', path: '/', body: {} })
  const { error } = (body ?? {}) as { error?: { type?: unknown } }
  const isOlder = statusCode === 406 || (statusCode === 400 && error?.type === 'media_type_header_exception')
  return isOlder ? { path, rule: `names an older release; ${neededRelease}` } : undefined
}

function credentialsProblem({ ELASTICSEARCH_API_KEY, ELASTICSEARCH_USERNAME, ELASTICSEARCH_URL }: Config): Problem {
  if (ELASTICSEARCH_URL.some((url) => new URL(url).username !== ''))
    return { path: 'ELASTICSEARCH_URL', rule: 'names a user or a password that Elasticsearch refuses' }
  if (ELASTICSEARCH_API_KEY !== undefined) return { path: 'ELASTICSEARCH_API_KEY', rule: 'is refused by Elasticsearch' }
  return ELASTICSEARCH_USERNAME === undefined
    ? { path: 'ELASTICSEARCH_USERNAME', rule: 'or ELASTICSEARCH_API_KEY must be set: Elasticsearch asks who connects' }
    : { path: 'ELASTICSEARCH_PASSWORD', rule: 'is refused by Elasticsearch for the user of ELASTICSEARCH_USERNAME' }
}

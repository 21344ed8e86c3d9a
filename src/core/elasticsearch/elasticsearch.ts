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

/** How a request may end before its answer. `requestTimeout`: by default that of the client. */
export type RequestOptions = { readonly signal: AbortSignal; readonly requestTimeout?: number }

/** Passes bytes through: parsing would reorder keys and lose digits of documents that are served byte for byte. */
export class RawSerializer extends Serializer {
  override deserialize<T = unknown>(json: string | Uint8Array): T {
    return typeof json === 'string' ? super.deserialize<T>(json) : (json as T)
  }
}

/** Marks a request whose answer is to be bytes. */
export const bytesContext = { isForBytes: true }

/**
 * Options of a request whose answer is to be bytes of JSON. Retries on the next node, each node once, when a node is unreachable or answers
 * 502, 503 or 504, as a node without a master does.
 */
export const asBytes = ({ connectionPool }: Client) => ({ context: bytesContext, maxRetries: connectionPool.size - 1 })

/**
 * Works around three bugs of `UndiciConnection`. It marks a node as dead when the caller aborts a request; only a connection error may do
 * that. When a request times out, it dispatches `abort` on the caller's signal, which is not aborted, and so ends everything else
 * that listens to that signal: other requests, waits, timers of the process. And it ends each request after the client's own timeout, also
 * one that was given more time: only bodies keep that limit, between two parts.
 */
class AbortableConnection extends UndiciConnection {
  constructor({ timeout: bodyTimeout, ...options }: ConstructorParameters<typeof UndiciConnection>[0]) {
    // What undici is given beside what the type names.
    super({ ...options, agent: { bodyTimeout } as UndiciAgentOptions })
  }

  override async request(params: ConnectionRequestParams, options: ConnectionRequestOptions): Promise<never> {
    const { signal } = options
    const own = new AbortController()
    const abort = (): void => own.abort(signal?.reason)
    if (signal?.aborted === true) abort()
    signal?.addEventListener('abort', abort, { once: true })
    try {
      return (await this.read(params, { ...options, signal: own.signal })) as never
    } catch (error) {
      if (error instanceof errors.ConnectionError && signal?.aborted === true)
        throw new errors.RequestAbortedError('Request aborted')
      throw error
    } finally {
      signal?.removeEventListener('abort', abort)
    }
  }

  /** Where bytes are asked for, returns successful responses as bytes, and errors as text, which the client parses. */
  protected async read(params: ConnectionRequestParams, options: ConnectionRequestOptions): Promise<unknown> {
    if (options.context !== bytesContext) return await super.request(params, options)
    const answer = await super.request(params, { ...options, asStream: true })
    const body = answer.body as unknown as AsyncIterable<Buffer>
    try {
      const read = await readAtMost(body, options.maxResponseSize)
      // Not a Buffer, which the client would decode to text.
      const bytes = new Uint8Array(read.buffer, read.byteOffset, read.length)
      return { ...answer, body: answer.statusCode < 400 ? bytes : read.toString() }
    } catch (error) {
      throw error instanceof errors.RequestAbortedError ? error : new errors.ConnectionError((error as Error).message)
    }
  }
}

/** The client does not watch how long a stream is. */
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

/** How the error for an answer that is longer than `maxResponseSize` begins, as the client begins it. */
export const tooLongMessage = 'The content length'

/** Connections that name their user with the credentials of that time, of which the client would keep the first. */
const authenticating = (config: Config): typeof AbortableConnection =>
  class extends AbortableConnection {
    protected override read(params: ConnectionRequestParams, options: ConnectionRequestOptions): Promise<unknown> {
      const now = latest(config)
      const key = now.ELASTICSEARCH_API_KEY
      if (config.files === undefined || (key ?? now.ELASTICSEARCH_USERNAME) === undefined)
        return super.read(params, options)
      const user = Buffer.from(`${now.ELASTICSEARCH_USERNAME}:${now.ELASTICSEARCH_PASSWORD}`)
      const authorization = key === undefined ? `Basic ${user.toString('base64')}` : `ApiKey ${key}`
      return super.read({ ...params, headers: { ...params.headers, authorization } }, options)
    }
  }

/** Set because the client has no default timeout: an unanswered request would wait for ever. */
export const defaultRequestTimeoutMs = 60_000

/** A client that parses responses, but for `asBytes`. It retries nothing unless it is told to: that is up to its callers. */
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
/** The major version of the client, and the first minor one that can remove a block which it is still adding. */
const [major, minor] = [9, 1]
const needed = `Elasticsearch ${major}.${minor} or a later ${major} is needed`
/** The releases in which an overloaded shard may keep documents on its primary only (elastic/elasticsearch#158212). */
const losing = new Set(['9.5.0', '9.5.1', '9.5.2'])
const mediaType = `application/vnd.elasticsearch+json; compatible-with=${major}`
/** Statuses 400 to 599, which are results here, not errors. */
const refusals = Array.from({ length: 200 }, (_, at) => 400 + at)
const mediaTypes = { accept: mediaType, 'content-type': mediaType }

type Ask = (params: TransportRequestParams) => Promise<{ readonly statusCode: number; readonly body: unknown }>

/** Checks TLS certificates, credentials and version of Elasticsearch when a process starts. */
export const elasticsearchProbe = (config: Config): EngineProbe => ({
  engine: 'ELASTICSEARCH_URL',
  caSetting: 'ELASTICSEARCH_CA_FILE',
  tls: { ca: config.ELASTICSEARCH_CA_FILE },
  addresses: config.ELASTICSEARCH_URL.filter((url) => url.startsWith('https:')).map((url) => addressIn(url, httpsPort)),
  tryCredentials: async (signal) => {
    const client = connectElasticsearch(config)
    // Of several nodes, one may be unreachable.
    const maxRetries = config.ELASTICSEARCH_URL.length - 1
    const ask: Ask = async (params) =>
      await client.transport.request(params, { signal, meta: true, headers: mediaTypes, ignore: refusals, maxRetries })
    try {
      // Needs no privilege. Where security is disabled, the endpoint is missing and the status an error other than 401.
      const who = await ask({ method: 'GET', path: '/_security/_authenticate' })
      return who.statusCode === 401 ? credentialsProblem(config) : await versionProblem(ask)
    } catch (error) {
      if (!(error instanceof errors.ProductNotSupportedError)) throw error
      return { path: 'ELASTICSEARCH_URL', rule: `names something else; ${needed}` }
    } finally {
      await client.close()
    }
  },
})

/** The problem of a server whose version does not fit; undefined when it does, or is unknown. */
async function versionProblem(ask: Ask): Promise<Problem | undefined> {
  const path = 'ELASTICSEARCH_URL'
  // May be refused: it needs `cluster:monitor/main`, which our roles do not have.
  const about = await ask({ method: 'GET', path: '/' })
  const { version } = (about.body ?? {}) as { version?: { number?: unknown } }
  if (about.statusCode === 200 && typeof version?.number === 'string') {
    const number = printable(version.number)
    const fits = number.startsWith(`${major}.`) && Number(number.split('.')[1]) >= minor
    if (!fits) return { path, rule: `names version ${number}; ${needed}` }
    const why = 'under load its replicas may lack documents (elastic/elasticsearch#158212)'
    return losing.has(number)
      ? { path, rule: `names version ${number}: ${why}; an earlier or later 9 is needed` }
      : undefined
  }
  // Earlier versions refuse a body of this version's media type, for any path and user.
  const { statusCode, body } = await ask({ method: 'POST', path: '/', body: {} })
  const { error } = (body ?? {}) as { error?: { type?: unknown } }
  const isOlder = statusCode === 406 || (statusCode === 400 && error?.type === 'media_type_header_exception')
  return isOlder ? { path, rule: `names an older release; ${needed}` } : undefined
}

function credentialsProblem({ ELASTICSEARCH_API_KEY, ELASTICSEARCH_USERNAME, ELASTICSEARCH_URL }: Config): Problem {
  if (ELASTICSEARCH_URL.some((url) => new URL(url).username !== ''))
    return { path: 'ELASTICSEARCH_URL', rule: 'names a user or a password that Elasticsearch refuses' }
  if (ELASTICSEARCH_API_KEY !== undefined) return { path: 'ELASTICSEARCH_API_KEY', rule: 'is refused by Elasticsearch' }
  return ELASTICSEARCH_USERNAME === undefined
    ? { path: 'ELASTICSEARCH_USERNAME', rule: 'or ELASTICSEARCH_API_KEY must be set: Elasticsearch asks who connects' }
    : { path: 'ELASTICSEARCH_PASSWORD', rule: 'is refused by Elasticsearch for the user of ELASTICSEARCH_USERNAME' }
}

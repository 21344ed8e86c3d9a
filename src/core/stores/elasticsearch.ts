import { Client, errors } from '@elastic/elasticsearch'
import {
  type ConnectionRequestOptions,
  type ConnectionRequestOptionsAsStream,
  type ConnectionRequestParams,
  Serializer,
  UndiciConnection,
} from '@elastic/transport'
import type { Config } from '../process/config.ts'

/** Answers as they came: parsing would reorder keys and lose digits of what is passed on byte for byte. */
class RawSerializer extends Serializer {
  override deserialize<T = unknown>(json: string): T {
    return json as T
  }
}

/** What a client of raw bytes gives: those of an answer, and what an error says as text. */
export type RawBody = Uint8Array | string

/** Gives all its bytes at once: no Buffer, of which the client would make text. */
type BodyOfUndici = { bytes(): Promise<Uint8Array> }

/** Leaves answers as the bytes they came in. The client can copy, redact and parse the text of an error. */
class BytesConnection extends UndiciConnection {
  override async request(
    params: ConnectionRequestParams,
    options: ConnectionRequestOptions | ConnectionRequestOptionsAsStream,
  ): Promise<never> {
    const answer = await super.request(params, { ...options, asStream: true })
    try {
      const bytes = await (answer.body as unknown as BodyOfUndici).bytes()
      return { ...answer, body: answer.statusCode < 400 ? bytes : Buffer.from(bytes).toString() } as never
    } catch (error) {
      throw new errors.ConnectionError((error as Error).message)
    }
  }
}

/** A client whose answers are parsed. It never retries by itself: whoever calls knows whether, when and how often. */
export const connectElasticsearch = (config: Config): Client => new Client(options(config))

/** A client whose answers are raw JSON text. */
export const connectElasticsearchRaw = (config: Config): Client =>
  new Client({ ...options(config), Serializer: RawSerializer })

/** A client whose answers are raw bytes of JSON. */
export const connectElasticsearchBytes = (config: Config): Client =>
  new Client({ ...options(config), Serializer: RawSerializer, Connection: BytesConnection })

function options(config: Config): ConstructorParameters<typeof Client>[0] {
  return {
    nodes: config.ELASTICSEARCH_URL,
    maxRetries: 0,
    ...(config.ELASTICSEARCH_API_KEY !== undefined && { auth: { apiKey: config.ELASTICSEARCH_API_KEY } }),
    ...(config.ELASTICSEARCH_USERNAME !== undefined && {
      auth: { username: config.ELASTICSEARCH_USERNAME, password: config.ELASTICSEARCH_PASSWORD ?? '' },
    }),
    ...(config.ELASTICSEARCH_CA_FILE !== undefined && { tls: { ca: config.ELASTICSEARCH_CA_FILE } }),
  }
}

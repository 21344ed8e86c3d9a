import { Client } from '@elastic/elasticsearch'
import { Serializer } from '@elastic/transport'
import type { Config } from '../config.ts'

/** Answers as the text they came in: parsing would reorder keys and lose digits of what is passed on byte for byte. */
class TextSerializer extends Serializer {
  override deserialize<T = unknown>(json: string): T {
    return json as T
  }
}

/** A client whose answers are parsed. It never retries by itself: whoever calls knows whether, when and how often. */
export const connectElasticsearch = (config: Config): Client => new Client(options(config))

/** A client whose answers are raw JSON text. */
export const connectElasticsearchRaw = (config: Config): Client =>
  new Client({ ...options(config), Serializer: TextSerializer })

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

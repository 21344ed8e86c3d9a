import { errors } from '@elastic/elasticsearch'
import type { Problem } from '../../model/result.ts'
import type { Config } from '../../process/config.ts'
import { connectElasticsearch } from '../elasticsearch.ts'
import { addressIn, type EngineProbe } from './probe.ts'

const defaultPort = 443

export const probe = (config: Config): EngineProbe => ({
  caSetting: 'ELASTICSEARCH_CA_FILE',
  ca: config.ELASTICSEARCH_CA_FILE,
  addresses: config.ELASTICSEARCH_URL.filter((url) => url.startsWith('https:')).map((url) =>
    addressIn(url, defaultPort),
  ),
  tryCredentials: async (signal) => {
    const client = connectElasticsearch(config)
    try {
      // Needs no privilege. Without security the endpoint is missing, and the answer is an error other than 401.
      await client.transport.request({ method: 'GET', path: '/_security/_authenticate' }, { signal })
      return undefined
    } catch (error) {
      if (!(error instanceof errors.ResponseError)) throw error
      return error.statusCode === 401 ? credentialsProblem(config) : undefined
    } finally {
      await client.close()
    }
  },
})

function credentialsProblem({ ELASTICSEARCH_API_KEY, ELASTICSEARCH_USERNAME }: Config): Problem {
  if (ELASTICSEARCH_API_KEY !== undefined) return { path: 'ELASTICSEARCH_API_KEY', rule: 'is refused by Elasticsearch' }
  return ELASTICSEARCH_USERNAME === undefined
    ? { path: 'ELASTICSEARCH_USERNAME', rule: 'or ELASTICSEARCH_API_KEY must be set: Elasticsearch asks who connects' }
    : { path: 'ELASTICSEARCH_PASSWORD', rule: 'is refused by Elasticsearch for the user of ELASTICSEARCH_USERNAME' }
}

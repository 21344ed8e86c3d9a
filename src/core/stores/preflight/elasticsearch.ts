import { type Client, errors } from '@elastic/elasticsearch'
import type { TransportRequestParams } from '@elastic/transport'
import type { Problem } from '../../model/result.ts'
import type { Config } from '../../process/config.ts'
import { printable } from '../../process/log.ts'
import { connectElasticsearch } from '../elasticsearch.ts'
import { addressIn, type EngineProbe } from './probe.ts'

const defaultPort = 443
/** The release whose client this is. */
const major = 9
const needed = `Elasticsearch ${major} is needed`
const mediaType = `application/vnd.elasticsearch+json; compatible-with=${major}`
const mediaTypes = { accept: mediaType, 'content-type': mediaType }

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
      const who = await ask(client, { method: 'GET', path: '/_security/_authenticate' }, signal)
      if (who.status === 401) return credentialsProblem(config)
      return await versionProblem((params) => ask(client, params, signal))
    } catch (error) {
      if (!(error instanceof errors.ProductNotSupportedError)) throw error
      return { path: 'ELASTICSEARCH_URL', rule: `names something else; ${needed}` }
    } finally {
      await client.close()
    }
  },
})

type Answer = { readonly status: number; readonly body: unknown }

async function ask(client: Client, params: TransportRequestParams, signal: AbortSignal): Promise<Answer> {
  try {
    const { statusCode, body } = await client.transport.request(params, { signal, meta: true, headers: mediaTypes })
    return { status: statusCode, body }
  } catch (error) {
    if (!(error instanceof errors.ResponseError)) throw error
    return { status: error.statusCode ?? 0, body: error.body }
  }
}

/** Why a server is none that this release works with; undefined when it is, or does not say. */
async function versionProblem(
  asking: (params: TransportRequestParams) => Promise<Answer>,
): Promise<Problem | undefined> {
  const path = 'ELASTICSEARCH_URL'
  // Needs `cluster:monitor/main`, which our roles do not have.
  const about = await asking({ method: 'GET', path: '/' })
  const { version } = (about.body ?? {}) as { version?: { number?: unknown } }
  if (about.status === 200 && typeof version?.number === 'string') {
    const number = printable(version.number)
    return number.startsWith(`${major}.`) ? undefined : { path, rule: `names version ${number}; ${needed}` }
  }
  // Any body in the media type of this release is refused by those before it, whoever asks for what.
  const { status, body } = await asking({ method: 'POST', path: '/', body: {} })
  const { error } = (body ?? {}) as { error?: { type?: unknown } }
  const isOlder = status === 406 || (status === 400 && error?.type === 'media_type_header_exception')
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

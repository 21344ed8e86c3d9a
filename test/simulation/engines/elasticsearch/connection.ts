import { BaseConnection, type ConnectionRequestOptions, type ConnectionRequestParams, errors } from '@elastic/transport'
import { bytesContext } from '../../../../src/core/elasticsearch/elasticsearch.ts'
import { type Network, NetworkFailure } from '../../network.ts'

export type HttpRequest = {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly body: string
}
export type HttpAnswer = { readonly status: number; readonly body: string }

const headers = {
  'content-type': 'application/vnd.elasticsearch+json;compatible-with=9',
  'x-elastic-product': 'Elasticsearch',
}
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** A connection class whose requests go to a simulated engine. */
export function connectionTo(
  network: Network,
  answer: (request: HttpRequest) => Promise<HttpAnswer>,
): typeof BaseConnection {
  class SimulatedConnection extends BaseConnection {
    override async request(
      { method, path, querystring = '', body }: ConnectionRequestParams,
      { timeout, signal, context }: ConnectionRequestOptions,
    ): Promise<never> {
      // The product writes some query parameters into the path.
      const { pathname, searchParams: query } = new URL(querystring === '' ? path : `${path}?${querystring}`, this.url)
      const request = { method, path: pathname, query, body: textOf(body) }
      const options = { timeoutMs: timeout ?? undefined, signal }
      try {
        const response = await network
          .call('elasticsearch', `${method} ${path}`, () => answer(request), options)
          .catch(refusal)
        const isRaw = context === bytesContext && response.status < 400
        const encoded = isRaw ? new TextEncoder().encode(response.body) : method === 'HEAD' ? '' : response.body
        return { statusCode: response.status, headers, body: encoded } as never
      } catch (error) {
        throw clientErrorOf(error, signal)
      }
    }

    override async close(): Promise<void> {}
  }
  return SimulatedConnection
}

function textOf(body: ConnectionRequestParams['body']): string {
  if (body === undefined || body === null || typeof body === 'string') return body ?? ''
  if (body instanceof Uint8Array) return utf8.decode(body)
  throw new TypeError('the product sends no streams')
}

/** The answer of an overloaded node. */
function refusal(error: unknown): HttpAnswer {
  if (!(error instanceof NetworkFailure && error.kind === 'refused')) throw error
  const cause = { type: 'circuit_breaking_exception', reason: 'as the simulation says' }
  return { status: 429, body: JSON.stringify({ error: { root_cause: [cause], ...cause }, status: 429 }) }
}

/** The error as the client's own connection reports it. */
function clientErrorOf(error: unknown, signal: AbortSignal | undefined): unknown {
  if (error instanceof NetworkFailure)
    return error.kind === 'timeout'
      ? new errors.TimeoutError('Request timed out')
      : new errors.ConnectionError(error.message)
  return signal?.aborted ? new errors.RequestAbortedError('Request aborted') : error
}

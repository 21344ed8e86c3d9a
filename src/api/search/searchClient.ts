import { type Client, errors } from '@elastic/elasticsearch'
import { isObject } from '../../core/model/schema.ts'
import type { RawBody } from '../../core/stores/elasticsearch.ts'
import { judgeRefusal, ReplicaUnavailable } from './unavailable.ts'

/** One request to Elasticsearch; every part of `path` is already percent-encoded. */
export type Question = {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly querystring: Readonly<Record<string, string | boolean>>
  readonly body?: Readonly<Record<string, unknown>>
  /** A body of lines, in the place of `body`. */
  readonly bulkBody?: Readonly<Record<string, unknown>>[]
}

/** The answer as it came, raw JSON; nothing but 200 and 404 gets this far. */
export type Answer = { readonly isFound: boolean; readonly bytes: Buffer }

/** Who can be asked. */
export type SearchClient = {
  readonly indexPrefix: string
  /** Rejects with `ReplicaUnavailable`; with another error only when the question itself is at fault. */
  ask(question: Question, signal: AbortSignal): Promise<Answer>
}

/** Asks Elasticsearch through a client whose answers are raw bytes; once, for a reader who waits is told to come again. */
export const openSearchClient = (client: Client, indexPrefix: string): SearchClient => ({
  indexPrefix,
  ask: async (question, signal) => {
    const { statusCode, body } = await client.transport
      .request<RawBody>({ ...question }, { signal, ignore: [404], maxRetries: 0, meta: true })
      .catch((error: unknown) => {
        throw judgeFailure(error)
      })
    return { isFound: statusCode !== 404, bytes: bufferOf(body) }
  },
})

const bufferOf = (body: RawBody): Buffer =>
  typeof body === 'string' ? Buffer.from(body) : Buffer.from(body.buffer, body.byteOffset, body.byteLength)

function judgeFailure(error: unknown): unknown {
  if (error instanceof errors.ResponseError) return judgeRefusal(error.statusCode ?? 0, errorType(error.body))
  if (error instanceof errors.RequestAbortedError || error instanceof errors.TimeoutError)
    return new ReplicaUnavailable('deadline', error.name)
  if (error instanceof errors.ElasticsearchClientError) return new ReplicaUnavailable('unreachable', error.message)
  return error
}

/** The kind of a refusal; its reason would repeat the question. */
function errorType(body: unknown): string {
  try {
    const answer: unknown = typeof body === 'string' ? JSON.parse(body) : body
    const error = isObject(answer) ? answer['error'] : undefined
    return isObject(error) ? String(error['type']) : 'without a reason'
  } catch {
    return 'without a reason'
  }
}

import { type Client, errors } from '@elastic/elasticsearch'
import { LRUCache } from 'lru-cache'
import { isObject } from '../../core/model/schema.ts'
import type { RawBody } from '../../core/stores/elasticsearch.ts'
import { keepSnapshots, type ReadSnapshot } from './keptSnapshots.ts'
import { judgeRefusal, ReplicaUnavailable } from './unavailable.ts'

const maxLargeLists = 1_000

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

/** The document view as the queries see it. */
export type IndexReader = SearchClient & {
  /** The offset from which a page is found without passing over the rows before it. */
  readonly deepPageFrom: number
  readonly readSnapshot: ReadSnapshot
  /** Lists that were so long when they were counted last that they are better counted apart. */
  readonly largeLists: LRUCache<string, true>
}

/** A document view behind a client whose answers are raw bytes. Asks once: a reader who waits is told to come again. */
export function openIndexReader(client: Client, indexPrefix: string, deepPageFrom: number): IndexReader {
  const asking: SearchClient = {
    indexPrefix,
    ask: async (question, signal) => {
      const { statusCode, body } = await client.transport
        .request<RawBody>({ ...question }, { signal, ignore: [404], maxRetries: 0, meta: true })
        .catch((error: unknown) => {
          throw judgeFailure(error)
        })
      return { isFound: statusCode !== 404, bytes: bufferOf(body) }
    },
  }
  return indexReaderOf(asking, deepPageFrom)
}

/** A document view behind whoever answers questions. */
export const indexReaderOf = (asking: SearchClient, deepPageFrom: number): IndexReader => ({
  ...asking,
  deepPageFrom,
  readSnapshot: keepSnapshots(asking),
  largeLists: new LRUCache({ max: maxLargeLists }),
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

import type { IncomingMessage, ServerResponse } from 'node:http'
import { startLocalServer } from './localServer.ts'

/** Answers a request; by default like an empty index. */
type Answering = (request: IncomingMessage, response: ServerResponse) => void

export type FakeElasticsearch = Awaited<ReturnType<typeof startFakeElasticsearch>>

export const emptySearch = {
  took: 1,
  timed_out: false,
  _shards: { total: 1, successful: 1, skipped: 0, failed: 0 },
  hits: { total: { value: 0, relation: 'eq' }, max_score: null, hits: [] },
}

/** An answer of the given status and JSON body. */
export const answer =
  (status: number, body: unknown): Answering =>
  (_request, response) => {
    response.writeHead(status, {
      'content-type': 'application/vnd.elasticsearch+json;compatible-with=9',
      'x-elastic-product': 'Elasticsearch',
    })
    response.end(JSON.stringify(body))
  }

/** Starts a fake Elasticsearch whose answers a test sets, for answers that no healthy one gives. */
export async function startFakeElasticsearch() {
  let answering = answer(200, emptySearch)
  const { url, close } = await startLocalServer((request, response) => {
    request.resume()
    request.once('end', () => answering(request, response))
  })
  return {
    url,
    close,
    answerWith: (next: Answering): void => {
      answering = next
    },
  }
}

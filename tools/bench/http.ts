import { waitUntil } from '../engines/waiting.ts'
import type { HttpRequest } from './load.ts'
import type { Stage } from './stage.ts'

const deadlineMs = 60_000

/** Rejects if the status is another than expected, or after a minute without an answer. */
export async function ask(
  origin: string,
  request: HttpRequest,
  { signal }: Stage,
): Promise<{ readonly json: unknown; readonly etag: string | undefined }> {
  const { method, path, headers, body = null, expectedStatus } = request
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)])
  const answer = await fetch(origin + path, { method, headers, body, signal: bounded })
  const text = await answer.text()
  if (answer.status !== expectedStatus) throw new Error(`${method} ${path} answers ${answer.status}: ${text}`)
  return { json: text === '' ? undefined : JSON.parse(text), etag: answer.headers.get('etag') ?? undefined }
}

/** Resolves when a request is answered as expected. Rejects after a minute. */
export async function untilAnswered(origin: string, request: HttpRequest, stage: Stage): Promise<void> {
  const isAnswered = (): Promise<boolean> =>
    ask(origin, request, stage).then(
      () => true,
      () => false,
    )
  if (await waitUntil(isAnswered, { deadlineMs, signal: stage.signal })) return
  throw new Error(`${origin}${request.path} is not answered ${request.expectedStatus} within ${deadlineMs / 1_000} s`)
}

/** All submissions of a team as NDJSON, or those that match `query`. */
export const exportRequest = (accountKey: string, query: Query, etag?: string): HttpRequest => {
  const request = apiRequest(accountKey, 'records', query, etag)
  return { ...request, headers: { ...request.headers, accept: 'application/x-ndjson' } }
}

type Query = Readonly<Record<string, string | number>>

/** With an ETag, the expected status is 304. */
export const apiRequest = (accountKey: string, what: string, query: Query, etag?: string): HttpRequest => {
  const search = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  )
  return {
    method: 'GET',
    path: `/api/v1/${what}${search.size === 0 ? '' : `?${search}`}`,
    headers: { authorization: `Bearer ${accountKey}`, ...(etag !== undefined && { 'if-none-match': etag }) },
    expectedStatus: etag === undefined ? 200 : 304,
  }
}

import type { IncomingMessage, ServerResponse } from 'node:http'
import { Tidemark, type TidemarkOptions } from '../../clients/typescript/src/index.ts'
import { useStarted } from './lifecycle.ts'
import { startLocalServer } from './localServer.ts'

/** Answers one request. */
export type Reply = (response: ServerResponse, request: IncomingMessage) => unknown

/** A request: its path with the query, and its headers. */
type Asked = { readonly url: string; readonly headers: IncomingMessage['headers'] }

const key = 'rqp_acct_1'

/**
 * An API that answers as a test says, and clients of it whose pauses take no time. A request for which there is no reply is answered 418, which no
 * client waits out.
 */
export function useScriptedApi() {
  let replies: Reply[] = []
  let requests: Asked[] = []
  let pauses: number[] = []
  const server = useStarted('the API', () =>
    startLocalServer((request, response) => {
      requests.push({ url: request.url ?? '', headers: request.headers })
      const reply = replies.shift() ?? refusal(418)
      return reply(response, request)
    }),
  )
  return {
    get url(): string {
      return server.url
    },
    /** Sets the answers to the next requests, in this order, and forgets earlier requests. */
    willAnswer: (...next: readonly Reply[]): void => {
      replies = [...next]
      requests = []
      pauses = []
    },
    asked: (): readonly Asked[] => requests,
    /** The cursors of the requests; `none` for a request without a cursor. */
    cursors: (): readonly string[] =>
      requests.map(({ url }) => new URL(url, 'http://api').searchParams.get('cursor') ?? 'none'),
    /** How long clients have paused (ms). */
    pauses: (): readonly number[] => pauses,
    client: (options: Partial<TidemarkOptions> = {}): Tidemark =>
      new Tidemark({
        baseUrl: server.url,
        accountKey: key,
        sleep: async (ms, signal) => {
          pauses.push(ms)
          signal?.throwIfAborted()
        },
        ...options,
      }),
  }
}

/** A whole JSON answer. */
export const json =
  (body: unknown, headers: Readonly<Record<string, string>> = {}, status = 200): Reply =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))

/** An error as the API answers it. */
export const refusal = (status: number, headers: Readonly<Record<string, string>> = {}, message = 'no'): Reply =>
  json({ error: { code: `code_${status}`, message } }, headers, status)

/** A page of the change feed. */
export const changes = (
  items: readonly object[],
  cursor: string,
  { hasMore = false, ...headers }: { readonly hasMore?: boolean; readonly [header: string]: string | boolean } = {},
): Reply => json({ items, cursor, hasMore }, headers as Record<string, string>)

/** An answer that stops after its first bytes: the connection is reset, or the answer ends as if it were complete. */
export const cut =
  (bytes: Buffer, how: 'reset' | 'in order', headers: Readonly<Record<string, string>> = {}): Reply =>
  (response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers })
    if (how === 'in order') response.end(bytes)
    else response.write(bytes, () => response.destroy())
    if (how === 'reset') response.flushHeaders()
  }

/** The next `count` values. */
export async function take<T>(values: AsyncIterable<T>, count: number): Promise<T[]> {
  const first: T[] = []
  for await (const value of values) {
    first.push(value)
    if (first.length === count) break
  }
  return first
}

/** All values. */
export const all = <T>(values: AsyncIterable<T>): Promise<T[]> => take(values, Number.POSITIVE_INFINITY)

import { Client } from 'undici'
import type { Heard, Poll, PollingTeam } from './script.ts'

/** The kept connection of one team. */
export type Connection = {
  /** Reads the answer to its end; what is asked meanwhile waits. Rejects when none comes within half a minute. */
  ask(poll: Poll): Promise<Heard>
  close(): Promise<void>
}

const deadlineMs = 30_000
/** How an empty list begins. An answer that came compressed is longer than one. */
const emptyList = '{"totalDocs":0,'

export function connect(origin: string, { accountKey, takesGzip }: PollingTeam): Connection {
  const client = new Client(origin, { pipelining: 1, headersTimeout: deadlineMs, bodyTimeout: deadlineMs })
  const always = { authorization: `Bearer ${accountKey}`, ...(takesGzip && { 'accept-encoding': 'gzip' }) }
  return {
    ask: ({ path, etag }) =>
      new Promise((resolve, reject) => {
        let [status, begins, known, watermark] = [
          0,
          '',
          undefined as string | undefined,
          undefined as string | undefined,
        ]
        const headers = { ...always, ...(etag !== undefined && { 'if-none-match': etag }) }
        client.dispatch(
          { method: 'GET', path, headers },
          {
            onRequestStart: () => undefined,
            onResponseStart: (_, statusCode, answered) => {
              status = statusCode
              known = textOf(answered['etag'])
              watermark = textOf(answered['replica-watermark'])
            },
            onResponseData: (_, chunk) => {
              if (begins === '') begins = chunk.toString('latin1', 0, emptyList.length)
            },
            onResponseEnd: () => resolve({ status, etag: known, watermark, isEmpty: begins === emptyList }),
            onResponseError: (_, error) => reject(error),
          },
        )
      }),
    close: () => client.close(),
  }
}

const textOf = (value: string | string[] | undefined): string | undefined => (Array.isArray(value) ? value[0] : value)

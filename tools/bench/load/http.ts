import { Pool } from 'undici'
import type { Asker } from './asker.ts'
import type { HttpRequest } from './job.ts'

/** Asks over connections that are kept. What is answered is read to its end and thrown away. */
export function askHttp(origin: string, connections: number): Asker<HttpRequest> {
  const pool = new Pool(origin, { connections, pipelining: 1 })
  const send = ({ method, path, headers, body, expectedStatus }: HttpRequest): Promise<void> =>
    new Promise((resolve, reject) => {
      let status = 0
      pool.dispatch(
        { method, path, headers, ...(body !== undefined && { body }) },
        {
          onRequestStart: () => undefined,
          onResponseStart: (_, statusCode) => {
            status = statusCode
          },
          onResponseData: () => undefined,
          onResponseEnd: () => {
            if (status === expectedStatus) resolve()
            else reject(new Error(`${method} ${origin}${path} answers ${status} instead of ${expectedStatus}`))
          },
          onResponseError: (_, error) => reject(error),
        },
      )
    })
  return {
    ask: async (requests) => {
      await Promise.all(requests.map(send))
    },
    close: () => pool.close(),
  }
}

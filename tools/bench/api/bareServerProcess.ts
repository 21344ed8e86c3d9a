/**
 * The lower bound of a server in Node: it repeats the status, headers and bytes of the API's first answer to a request. `node bareServerProcess.ts
 * <port> <API>`
 */
import { createServer, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'
import { request as send } from 'undici'

type Fixed = { readonly status: number; readonly headers: OutgoingHttpHeaders; readonly body: Buffer }

const [port, api = ''] = process.argv.slice(2)
const fixed = new Map<string, Fixed>()

const keyOf = ({ url, headers }: IncomingMessage): string =>
  `${url} ${headers.authorization} ${headers['accept-encoding']} ${headers['if-none-match']}`

async function learn({ url, headers }: IncomingMessage): Promise<Fixed> {
  const answer = await send(`${api}${url}`, { headers })
  // Node sets these headers.
  const { date, connection, 'keep-alive': keepAlive, ...own } = answer.headers
  return { status: answer.statusCode, headers: own, body: Buffer.from(await answer.body.arrayBuffer()) }
}

const server = createServer((request, response) => {
  const repeat = ({ status, headers, body }: Fixed): void => {
    response.writeHead(status, headers).end(body)
  }
  const key = keyOf(request)
  const known = fixed.get(key)
  if (known !== undefined) return repeat(known)
  learn(request).then(
    (learned) => {
      if (learned.status < 400) fixed.set(key, learned)
      repeat(learned)
    },
    () => response.destroy(),
  )
})
server.listen(Number(port), '127.0.0.1')

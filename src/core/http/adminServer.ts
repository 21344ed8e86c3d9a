import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import { isIP } from 'node:net'
import { type PlainAnswer, type Refuse, refusal, statusOf } from './clientErrors.ts'
import { hostnameOf, type ListenAddress, serve } from './httpServer.ts'

/** By path. */
export type AdminPages = ReadonlyMap<string, (query: URLSearchParams) => Promise<PlainAnswer>>

/** `allowedHosts`: besides `localhost`, `host` and every IP address. */
type AdminAddress = ListenAddress & { readonly host: string; readonly allowedHosts: readonly string[] }

/**
 * Serves `pages`, to which the caller may add later, without authentication. If `Host` were not checked, a web page in the browser of somebody who can reach
 * the port could read it by DNS rebinding.
 */
export async function serveAdmin({ host, port, allowedHosts }: AdminAddress, pages: AdminPages) {
  const names = new Set(['localhost', host, ...allowedHosts].map((name) => name.toLowerCase()))
  const pageFor = async ({ url = '', method, headers }: IncomingMessage): Promise<PlainAnswer> => {
    // Undefined without the header, empty if it is malformed.
    const hostname = headers.host === undefined ? undefined : (hostnameOf(headers.host) ?? '')
    if (hostname !== undefined && !isAddress(hostname) && !names.has(hostname))
      return plainAnswer(421, `"${hostname.slice(0, maxShownCharacters)}" ${misdirected}`)
    if (method !== 'GET' && method !== 'HEAD') return plainAnswer(405, 'only GET and HEAD are answered', allow)
    const [path = '', query = ''] = url.split('?', 2)
    return (await pages.get(path)?.(new URLSearchParams(query))) ?? plainAnswer(404, 'not found')
  }
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    pageFor(request).then(
      (answer) => send(response, answer),
      (error: Error) => send(response, plainAnswer(500, error.message)),
    )
  }
  return await serve(listener, { host, port }, answerClientError)
}

/** DNS rebinding needs a host name. */
const isAddress = (host: string): boolean => isIP(host.replace(/^\[(.*)\]$/, '$1')) !== 0

const plainText = { 'Content-Type': 'text/plain; charset=utf-8' }
const allow = { Allow: 'GET, HEAD' }
const maxShownCharacters = 64
const misdirected = 'is no name of this port: ask by IP address, or add it to ADMIN_ALLOWED_HOSTS'

const plainAnswer = (status: number, body: string, headers = {}): PlainAnswer => ({
  status,
  headers: { ...plainText, ...headers },
  body: `${body}\n`,
})

const answerClientError: Refuse = (reason) => {
  const status = statusOf[reason]
  return refusal(status, { ...plainText, ...(status === 405 && allow) }, `${STATUS_CODES[status]}\n`)
}

function send(response: ServerResponse, { status, headers, body }: PlainAnswer): void {
  response.writeHead(status, { 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store', ...headers })
  response.end(body)
}

import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import { isIP } from 'node:net'
import { type Refuse, refusal, statusOf } from './clientErrors.ts'
import { hostnameOf, type ListenAddress, serve } from './httpServer.ts'

export type AdminAnswer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Answers one path; the query of the request is all that is told of it. */
export type AdminPage = (query: URLSearchParams) => Promise<AdminAnswer>

/** Path → what answers it. */
export type AdminPages = ReadonlyMap<string, AdminPage>

/** `allowedHosts` are names by which it may be asked, beside `localhost` and the one it listens on. */
export type AdminAddress = ListenAddress & { readonly host: string; readonly allowedHosts: readonly string[] }

/**
 * Serves `pages`, as they are at each request. Rejects when the address cannot be had. It asks nobody who they are; a page in an
 * operator's browser whose host name was made to lead here (DNS rebinding) would read it, were any name taken.
 */
export async function serveAdmin({ host, port, allowedHosts }: AdminAddress, pages: () => AdminPages): Promise<Server> {
  const names = new Set(['localhost', host, ...allowedHosts].map((name) => name.toLowerCase()))
  const pageFor = ({ url = '', method, headers }: IncomingMessage): Promise<AdminAnswer> => {
    const asked = headers.host === undefined ? undefined : (hostnameOf(headers.host) ?? '')
    if (asked !== undefined && !isAddress(asked) && !names.has(asked)) return misdirected(asked)
    const [path = '', query = ''] = url.split('?', 2)
    const page = method === 'GET' || method === 'HEAD' ? (pages().get(path) ?? notFound) : notAllowed
    return page(new URLSearchParams(query))
  }
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    pageFor(request).then(
      (answer) => send(response, answer),
      (error: Error) => send(response, text(500, error.message)),
    )
  }
  return await serve(listener, { host, port }, answerClientError)
}

/** No name leads to an address: a page at one was served from there. */
const isAddress = (host: string): boolean => isIP(host.replace(/^\[(.*)\]$/, '$1')) !== 0

const plainText = { 'Content-Type': 'text/plain; charset=utf-8' }
const allow = { Allow: 'GET, HEAD' }
const maxShownCharacters = 64

const text = (status: number, body: string, headers = {}): AdminAnswer => ({
  status,
  headers: { ...plainText, ...headers },
  body: `${body}\n`,
})

const notFound: AdminPage = async () => text(404, 'not found')
const notAllowed: AdminPage = async () => text(405, 'only GET and HEAD are answered', allow)

async function misdirected(host: string): Promise<AdminAnswer> {
  const shown = host.slice(0, maxShownCharacters)
  return text(421, `"${shown}" is no name of this port: ask by IP address, or add it to ADMIN_ALLOWED_HOSTS`)
}

const answerClientError: Refuse = (reason) => {
  const status = statusOf[reason]
  return refusal(status, { ...plainText, ...(status === 405 && allow) }, `${STATUS_CODES[status]}\n`)
}

function send(response: ServerResponse, { status, headers, body }: AdminAnswer): void {
  response.writeHead(status, { 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store', ...headers })
  response.end(body)
}

import { createServer, type Server, type ServerResponse } from 'node:http'

export type AdminAnswer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Answers one path; the query of the request is all that is told of it. */
export type AdminPage = (query: URLSearchParams) => Promise<AdminAnswer>

/** Path → what answers it. */
export type AdminPages = ReadonlyMap<string, AdminPage>

/** Serves `pages`, as they are at each request, on `port`. Rejects when the port cannot be had. */
export async function serveAdmin(port: number, pages: () => AdminPages): Promise<Server> {
  const server = createServer((request, response) => {
    const [path = '', query = ''] = (request.url ?? '').split('?', 2)
    const page = request.method === 'GET' || request.method === 'HEAD' ? (pages().get(path) ?? notFound) : notAllowed
    page(new URLSearchParams(query)).then(
      (answer) => send(response, answer),
      (error: Error) => send(response, text(500, error.message)),
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, resolve)
  })
  return server
}

const text = (status: number, body: string): AdminAnswer => ({
  status,
  headers: { 'Content-Type': 'text/plain; charset=utf-8' },
  body: `${body}\n`,
})

const notFound: AdminPage = async () => text(404, 'not found')
const notAllowed: AdminPage = async () => text(405, 'only GET and HEAD are answered')

function send(response: ServerResponse, { status, headers, body }: AdminAnswer): void {
  response.writeHead(status, { 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store', ...headers })
  response.end(body)
}

/** A server that does nothing but answer 304, and tell its memory at /resident: `node bareServer.ts <port> koa|node:http`. */
import { createServer, type RequestListener } from 'node:http'
import Koa from 'koa'

/** As the API has them. */
const [keepAliveMs, stallMs] = [65_000, 60_000]

const resident = (): string => String(process.memoryUsage.rss())

const plain: RequestListener = (request, response) => {
  if (request.url === '/resident') return response.end(resident())
  response.writeHead(304, { etag: 'W/"x"' })
  return response.end()
}

function koa(): RequestListener {
  const answer = new Koa()
    .use((ctx) => {
      if (ctx.path === '/resident') {
        ctx.body = resident()
        return
      }
      ctx.status = 304
      ctx.set('ETag', 'W/"x"')
    })
    .callback()
  return (request, response) => {
    answer(request, response).catch(() => response.destroy())
  }
}

const [port, kind] = process.argv.slice(2)
const server = createServer({ keepAliveTimeout: keepAliveMs }, kind === 'koa' ? koa() : plain)
server.setTimeout(stallMs)
server.listen(Number(port), '127.0.0.1')

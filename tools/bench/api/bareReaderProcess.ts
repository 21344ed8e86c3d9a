/**
 * The lower bound of a process between client and Elasticsearch: it sends Redis four commands at once, then a query to Elasticsearch, and forwards
 * the response. It serves one team, and checks nothing. `node bareReaderProcess.ts <port> <Elasticsearch> <Redis> <index> <team>`
 */
import { createServer, type ServerResponse } from 'node:http'
import { Redis } from 'ioredis'
import { Pool } from 'undici'
import { listSearch, msearch } from './lists.ts'

const [port, elasticsearchUrl = '', redisUrl = '', index = '', team = ''] = process.argv.slice(2)
const elasticsearch = new Pool(elasticsearchUrl, { pipelining: 1 })
const redis = new Redis(redisUrl, { enableAutoPipelining: true })

async function answer(limit: number, response: ServerResponse): Promise<void> {
  await Promise.all([
    redis.mget('bare:1', 'bare:2'),
    redis.hmget('bare:3', 'x', 'y', 'z'),
    redis.mget('bare:4', 'bare:5'),
    redis.incr('bare:6'),
  ])
  const chunks: Buffer[] = []
  elasticsearch.dispatch(
    { ...msearch, body: listSearch(index, team, limit) },
    {
      onRequestStart: () => undefined,
      onResponseStart: (_, status) => {
        response.statusCode = status
      },
      onResponseData: (_, chunk) => {
        chunks.push(chunk)
      },
      onResponseEnd: () => {
        const body = Buffer.concat(chunks)
        response.setHeader('content-type', 'application/json')
        response.setHeader('content-length', body.length)
        response.end(body)
      },
      onResponseError: () => response.destroy(),
    },
  )
}

const server = createServer((request, response) => {
  const limit = new URLSearchParams(request.url?.split('?')[1]).get('limit')
  answer(Number(limit), response).catch(() => response.destroy())
})
server.listen(Number(port), '127.0.0.1')

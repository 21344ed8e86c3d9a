import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import type { Stage } from '../stage.ts'

const isRoot = (request: string): boolean => /^(GET|HEAD) \/(\?\S*)? HTTP/.test(request)

/**
 * Resolves with the URL of a pipe to Elasticsearch that answers `GET /`, which sinks ask at their start: the distribution that the bench starts lacks it.
 */
export async function startPipe({ urls, versions, release }: Stage): Promise<string> {
  const { hostname, port } = new URL(urls.ELASTICSEARCH_URL)
  const number = versions.find((name) => name.startsWith('elasticsearch-'))?.slice('elasticsearch-'.length)
  const root = JSON.stringify(rootOf(number ?? ''))
  const onConnection = (client: Socket): void => {
    client.on('error', () => undefined)
    client.once('data', (first: Buffer) => {
      const request = first.toString('latin1')
      if (isRoot(request)) {
        client.end(`${rootHead}${root.length}\r\n\r\n${request.startsWith('GET') ? root : ''}`)
        return
      }
      const server = connect(Number(port), hostname)
      server.on('error', () => client.destroy())
      client.on('close', () => server.destroy())
      server.write(first)
      client.pipe(server).pipe(client)
    })
  }
  const pipe = createServer(onConnection).listen(0, '127.0.0.1')
  await once(pipe, 'listening')
  release(async () => void pipe.close())
  const address = pipe.address()
  if (address === null || typeof address === 'string') throw new Error('the pipe has no port')
  return `http://127.0.0.1:${address.port}`
}

const rootHead =
  'HTTP/1.1 200 OK\r\nX-Elastic-Product: Elasticsearch\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: '

const rootOf = (number: string): object => ({
  name: 'bench',
  cluster_name: 'bench',
  cluster_uuid: 'bench',
  version: {
    number,
    build_flavor: 'default',
    build_type: 'zip',
    build_hash: 'bench',
    build_date: '2026-01-01T00:00:00Z',
    build_snapshot: false,
    lucene_version: '10',
    minimum_wire_compatibility_version: '8.19.0',
    minimum_index_compatibility_version: '8.0.0',
  },
  tagline: 'You Know, for Search',
})
